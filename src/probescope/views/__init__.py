"""Front ends: ways to show what a session says.

In: ``model.output`` values. Out: text, JSON, Python values and columns. cli/ and the library's front door may import
this; views do not print: they return text, or write to what they are given.
"""
