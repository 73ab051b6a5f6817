"""Which requests are sent: read from a log, filtered, reordered and changed."""
