"""The node agent: what it sees, what it tells, and how it comes back."""
