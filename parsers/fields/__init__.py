"""Parses single fields of a log line: numbers, durations, addresses, request lines, time stamps."""
