"""Tests of a project in, pytest's verdicts on what they capture out; nothing heavy is imported until asked."""
