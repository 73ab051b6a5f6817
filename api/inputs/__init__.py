"""What a call reads: logs, targets, and the stream of requests made of them."""
