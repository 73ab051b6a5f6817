"""The results of a run: its rows, its counts, and the verdict whether it is valid."""
