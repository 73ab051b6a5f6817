"""Tables, curves, live lines and messages on a terminal."""
