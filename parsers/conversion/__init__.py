"""Converts log files to the normalized CSV: read, detect, parse, sort, write, and account for every line."""
