"""Tests of the one Docker client."""
