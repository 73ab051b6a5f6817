"""The pictures, one module for each kind."""
