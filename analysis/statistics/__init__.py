"""Statistics that know nothing of requests: quantiles, intervals, queues."""
