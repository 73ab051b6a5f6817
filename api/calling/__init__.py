"""How a call runs: its thread and loop, whom it tells, when it stops."""
