"""HTTP/2 (RFC 9113): frames, header blocks, the state of a connection, and the sender on top of them."""
