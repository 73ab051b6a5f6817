"""Captured requests with headers and bodies: readers and writers of the formats of other tools."""
