"""``ir.Program`` -> bytecode. Pure: features, types and architecture come in as arguments; nothing here touches Linux.

In: a program and ``Unit``s (which clause, through which mechanism: plan/ decides). Out: an ``Object``: maps, programs,
BTF. plan/ and collect/ may import this. Two halves meet in ``lir.py``: lowering from the program above it, registers
and bytes below it.
"""
