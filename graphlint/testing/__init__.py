"""Tests of a project in, pytest's verdicts on what they capture out; nothing heavy is imported until asked.

`plugin` is what pytest loads. A test that asserts loads the rest: `asserting` looks at a target, `emulation` runs a
test where torch finds an emulated GPU, `verdict` says why an assertion fails.
"""
