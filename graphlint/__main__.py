"""`python -m graphlint`: the command."""

from graphlint.cli import main

main()
