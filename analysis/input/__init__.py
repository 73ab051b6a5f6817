"""Readers of result logs: files and tables to arrays of requests."""
