"""Targets in, messages about them out: in a process of their own, in a fork of this one, or here.

Processes, deadlines, and the choice of the witness. Modules import torch, and the floors that need it, when a target
is looked at: a command that only parses its options loads none of it.
"""
