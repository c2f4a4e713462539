"""The events that detectors are asked about, by what they are of: a region, host state, the code around, the protocol.

Detectors import them from `graphlint.rule`.
"""
