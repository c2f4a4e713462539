"""What captures: the questions that every device answers, and below it the real one and the emulated one.

`backend` is the protocol that the rest of this half knows. `cuda` asks the driver, `emulator` lets torch take itself
for a build with a GPU; neither knows the other. Imports `trace` alone.
"""
