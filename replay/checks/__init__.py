"""What is checked before the first request."""
