"""Access logs that come with the package."""
