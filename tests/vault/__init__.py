"""Sealing and the key file."""
