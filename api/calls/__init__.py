"""What a caller asked for: one frozen value for each function."""
