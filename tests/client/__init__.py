"""The HTTP client, against peers that behave and misbehave on real sockets."""
