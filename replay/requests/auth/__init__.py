"""Credentials of requests: a token, a password, or a signature of AWS, added shortly before each request is sent."""
