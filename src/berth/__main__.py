"""`python -m berth` is the `berth` command."""

from berth.main.cli import main

main()
