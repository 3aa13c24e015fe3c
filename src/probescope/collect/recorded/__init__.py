"""What a recording tells beyond its events: who ran, what was mapped where, what an address was called.

In: batches of a ``model.recording.Recording``. Out: columns of names, address spaces and stacks, each different one
once. Who may import me: the rest of collect, and every room above. Symbols are read from files of this machine, and
only where they are those of the recording.

    batch ──► tasks.Tasks ──► name and space of each event
          `─► unwinding ────► stacks of registers and stack bytes (lanes, by the rules that grounds finds)
          `─► stacks.Stacks ─► each different stack once ──► symbols.Symbols ──► frames, and what was inlined there
                                                             kernel_names, modules, jitted; missing: what has no name
"""
