"""Checks of this repository that no ready-made tool does: which room may do what, and how large things may grow."""
