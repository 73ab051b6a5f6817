"""Runs a call: its thread and loop, its listeners, its end."""
