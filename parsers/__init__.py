"""Access logs in, normalized records out."""
