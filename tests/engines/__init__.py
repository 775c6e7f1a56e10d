"""What single engines do beyond the common suite."""
