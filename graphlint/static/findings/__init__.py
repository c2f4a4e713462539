"""What the report shows: events become findings with the shortest way to each, and the user's selection is applied.

Imports `domain` and `index`.
"""
