"""What a log line looks like: the built-in formats, and those that a directive or a sample of lines describes."""
