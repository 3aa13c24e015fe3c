"""What a program means: ``ir.Program`` run over events in user space.

In: a program, a ``Store`` for its maps, and events (``Event``). Out: changed maps, emitted records, counted errors.
bpf/ must agree with this room; collectors that cannot run a program in the kernel use it. collect/, api and tests may
import it.
"""
