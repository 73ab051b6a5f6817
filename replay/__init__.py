"""Replays normalized records: sends requests on schedule and writes result rows."""
