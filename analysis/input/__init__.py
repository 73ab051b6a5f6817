"""Result logs to arrays of requests."""
