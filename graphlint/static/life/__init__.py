"""The life around a region: construct, warm up, capture, fill, replay, read, release, in the order of a run.

A *rehearsal* runs the code that captures, path by path, over objects with identities: it is symbolic execution where
`interpreter` is abstract interpretation. The `machine` runs statements, `expressions`, `calls` and `operations` say
what they do, the `ledger` has the record, `programs` are what is run, and its listeners ask what a graph
needs: that gives events of `graphlint.rule`, and the detectors beside the pages of rules decide.

Imports `syntax`, `index`, `domain` and `interpreter`. Unknown calls may do anything to what they are given, so they
silence; a run has bounds on steps, on conditions that it tries both ways, and a program on runs.
"""
