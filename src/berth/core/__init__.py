"""Pure decisions: no clock, randomness, logging or I/O; control hands in a snapshot and applies what comes back."""
