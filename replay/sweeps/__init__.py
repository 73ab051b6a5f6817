"""Runs plans at several rates into one result log, and resumes interrupted sweeps."""
