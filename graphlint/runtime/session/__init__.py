"""Targets in, messages about them out: in a process of their own, in a fork of this one, or here."""
