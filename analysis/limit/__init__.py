"""Names the limit of a sweep: workers, shared processors, a limiter, a lock, or nothing where it cannot be told."""
