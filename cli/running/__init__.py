"""Runs, sweeps and searches driven from the command line."""
