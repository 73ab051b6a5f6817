"""How a run stands while it goes on: live page, Prometheus metrics, figures of the target."""
