"""Arrays of requests to tables: windows, seconds, steps, users."""
