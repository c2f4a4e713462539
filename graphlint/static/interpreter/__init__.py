"""The abstract interpreter: statements, expressions and calls over the domain, names and the heap.

Evaluating one kind of thing needs all others, so this is the one package whose modules import each other in a circle,
by types alone. Imports `syntax`, `index`, `domain` and `models`.
"""
