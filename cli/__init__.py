"""The commands of ``logreplay``."""
