"""Blocks of log lines to columns of values."""
