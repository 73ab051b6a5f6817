"""Sends requests to the target over HTTP/1.1, and reads the responses."""
