"""How a request goes to the target and its answer comes back, over HTTP/1.1."""
