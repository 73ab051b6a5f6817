"""Runs at several rates, one after the other, into one result log."""
