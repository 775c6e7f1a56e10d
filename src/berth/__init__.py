"""Berth gives every GPU card one place in one queue."""

__version__ = "0.1.0"
