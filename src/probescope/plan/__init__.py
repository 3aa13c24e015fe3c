"""Which mechanism runs each clause, and the exact kernel steps, as data.

In: an ``ir.Program`` and what this host offers (``Offers``). Out: a ``BpfPlan``: a ``model.plan.Plan`` with the units
that the compiler is to make. Pure. collect/, api and cli may import this.
"""
