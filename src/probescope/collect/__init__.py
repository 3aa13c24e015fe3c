"""Data collection: carries out plans, reads what comes, puts names to numbers, and leaves nothing behind.

In: an ``ir.Program`` and options. Out: ``model.output`` values, as they happen. api, tools, views and cli may import
this.

session.py is the way in: prepare, load, attach, activate, stop. execute.py is the only interpreter of plans.
"""
