"""Reports a run while it goes on: snapshots, live page, Prometheus metrics, probes of other systems."""
