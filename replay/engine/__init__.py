"""Sends each request when it is due, and records its end."""
