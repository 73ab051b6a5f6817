"""Result rows in: tables, curves, and where they bend."""
