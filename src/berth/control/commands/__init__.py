"""What people ask for: each command checks, commits one batch, and wakes the controllers that carry it out."""
