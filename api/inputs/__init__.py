"""Inputs of a call: logs, targets, and the stream of requests made of them."""
