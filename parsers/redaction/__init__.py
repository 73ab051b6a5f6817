"""Replaces personal data by pseudonyms."""
