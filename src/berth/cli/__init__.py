"""The command line: a table of verbs, each a module that is imported only when it is typed."""
