"""Normalized records in, requests on the wire, result rows out."""
