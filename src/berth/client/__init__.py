"""The client's side of the HTTP API, on the standard library alone: every verb of the CLI speaks through it."""
