"""The command line: what it prints by values, and whole processes against a real server."""
