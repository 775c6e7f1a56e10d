"""Stack files, jobs, and the quickstart that `make quickstart` runs."""
