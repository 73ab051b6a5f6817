"""Compares the answers of two targets to the same requests: status, headers, JSON by path, text by line."""
