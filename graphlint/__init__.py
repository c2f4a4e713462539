"""graphlint: is it safe to capture this into a CUDA graph and replay it?"""

__version__ = "0.1.0"
