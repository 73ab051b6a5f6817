"""Measures of the verdicts, by simulation: one module a part of docs/accuracy.md."""
