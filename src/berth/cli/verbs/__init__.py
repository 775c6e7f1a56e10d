"""One module per verb or family of verbs; cli/main.py has the table."""
