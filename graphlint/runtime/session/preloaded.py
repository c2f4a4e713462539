"""What the process that those of targets come out of has loaded for them: the rules and their tables."""

from graphlint.rulebook import builtin_rulebook

builtin_rulebook()
