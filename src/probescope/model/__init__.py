"""The nouns: types, probes, sites, plans, events, features. Pure: no I/O, frozen, printable, JSON-able.

In: nothing. Out: values that every other room speaks in. Anyone may import this; it imports only errors and
diagnostics.
"""
