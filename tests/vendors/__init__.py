"""What each vendor does beyond the common suite."""
