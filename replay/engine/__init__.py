"""Sends each request when it is due, and records how it ended."""
