"""Frozen values that every room shares; this room imports nothing of ours."""
