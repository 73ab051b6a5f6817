"""Conclusions from the tables: balance, saturation, capacity, comparison."""
