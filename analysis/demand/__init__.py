"""What a log asks of a system: its rates, routes and clients."""
