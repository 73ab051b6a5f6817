"""Options from ``logreplay.toml`` and from ``LOGREPLAY_*`` variables."""
