"""What rules ask of the program around an event: whether a buffer grows, whether a tensor is written to.

Answers come from the intermediate representation, never from source text. Imports `syntax`, `index` and `domain`.
"""
