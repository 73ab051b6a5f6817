"""The calls themselves: one run, its senders, engine and files."""
