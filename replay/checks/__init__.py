"""Checks machine and target before the first request, and measures what the machine can send."""
