"""What was measured, and whether it can be trusted."""
