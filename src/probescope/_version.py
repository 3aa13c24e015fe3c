"""The version, in one place: hatchling reads it from this file, the command line prints it."""

__version__ = "0.1.0.dev0"
