"""Values and the pure readings of text into them."""
