"""A program as it runs in, its captures, operators and replays as they happen out.

Whoever wants to be told puts a callable into the lists of a `Watch`; a watch knows no rule and no target. Imports
`device.backend` and `trace`.
"""
