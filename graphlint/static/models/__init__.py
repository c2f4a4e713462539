"""Transfer functions for what is not followed: catalogued operations, Python's own functions, containers, modules.

They speak to the `Evaluator` protocol of the domain, never to the interpreter itself.
Imports `syntax`, `index` and `domain`.
"""
