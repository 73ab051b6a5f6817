"""The throughput of several machines, or of several users, by the universal scalability law."""
