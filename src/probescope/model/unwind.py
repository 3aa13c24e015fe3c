"""What the kernel is told of stacks without frame pointers: the layout that tables are written in and walked by.

A table is the unwind information of one binary for x86-64: rows of two u32, ascending, in blocks of ``BLOCK``::

    u32 pc     from the table's base, the rule holds up to the next row's
    u32 rule   31            16 15             4 3    0
               | number, signed | slot, signed  | kind |

``slot`` says where the caller's frame pointer is: at CFA + 8 * slot; 0: it is as it was; ``AT_FRAME``: at the address
that the frame pointer holds. The return address is at CFA - 8.

    kind        the CFA is                            number
    GAP         not known: no code, or no table       -
    END         nowhere: the outermost function       -
    SP, FP      register + 8 * number
    AT_SP, AT_FP   in memory, at register + 8 * number
    PLT         sp + 8, +8 more from byte ``number`` of the 16-byte entry on
    SIGNAL      the frame that a signal interrupted: everything is in the kernel's ucontext on the stack
    OTHER       said by a rule that does not fit here

Tables lie one after the other in bundles, each an array of blocks. A process is a list of mappings, ascending, in 40
bytes each; before them comes one whose ``start`` is their number::

    u64 start   u64 bytes   u64 bias   u32 bundle   u32 first block   u32 blocks   u32 -

An address minus the bias is the pc of the table's rows.
"""

from __future__ import annotations

import struct

GAP, END, SP, FP, AT_SP, AT_FP, PLT, SIGNAL, OTHER = range(9)

BLOCK = 16
"""Rows that one look into the kernel's map brings: 128 bytes."""
ROW = 8
BLOCK_BYTES = BLOCK * ROW
NO_ROW = 0xFFFFFFFF
"""The pc that fills up the last block."""
SLOT_BITS, SLOT_SHIFT, NUMBER_SHIFT = 12, 4, 16
AT_FRAME = -(1 << SLOT_BITS - 1)
MOST_NUMBER = (1 << 15) - 1

# The kernel's ucontext as __restore_rt finds it at its stack pointer: struct rt_sigframe of
# arch/x86/include/asm/sigframe.h without its return address, uc_mcontext at 40, struct sigcontext_64.
SIGNAL_BP, SIGNAL_SP, SIGNAL_IP = 120, 160, 168

MAPPING = struct.Struct("=QQQIIII")
MOST_MAPPINGS = 4096
"""Executable mappings of one process."""
MOST_PROCESSES, MOST_BUNDLES = 4096, 4096
BLOCK_STEPS, MAPPING_STEPS = 18, 12
"""Halvings that find one of 2**18 blocks (4 million rows: 32 MB), one of 2**12 mappings."""
MOST_ROWS = BLOCK << BLOCK_STEPS

ENOUGH = 0.5
"""Share of functions with frame pointers, among those that need a frame, from which on a file counts as compiled with
them. It is never all: hand-written assembly has none."""
MOST_FRAME = 1 << 20
"""Bytes that a frame pointer may lie above the stack pointer to be believed where no table is."""

UNWOUND = 1 << 30
"""The numbers of stacks that were unwound by tables: this and 30 bits of their hash."""
STACK_HEAD = 16
"""What stands before the frames of such a stack: u64 hash, u32 frames, u32 why it ended."""


def pack_rule(kind: int, number: int = 0, slot: int = 0) -> int:
    """One rule; OTHER where a number does not fit."""
    if not (-MOST_NUMBER <= number <= MOST_NUMBER and AT_FRAME <= slot < -AT_FRAME):
        return OTHER
    return (number & 0xFFFF) << NUMBER_SHIFT | (slot & 0xFFF) << SLOT_SHIFT | kind


def unpack_rule(rule: int) -> tuple[int, int, int]:
    """Kind, number, slot."""
    number, slot = rule >> NUMBER_SHIFT, rule >> SLOT_SHIFT & 0xFFF
    return rule & 0xF, number - (number >> 15 << 16), slot - (slot >> 11 << 12)
