"""The version of this package, which its reports name."""

__version__ = "0.1.0"
