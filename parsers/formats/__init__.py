"""Layouts of log lines: the built-in formats, and those that a directive or a sample of lines describes."""
