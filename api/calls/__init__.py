"""Arguments of a call: one frozen value for each function."""
