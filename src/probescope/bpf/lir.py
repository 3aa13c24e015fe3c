"""LIR: the low-level program between lowering (above) and registers (below).

A ``Function`` is a list of ``Block``s in layout order, entry first. A block is a list of ``Op``s whose last is its
terminator (``jump``, ``branch``, ``may_goto``, ``exit``). Values live in any number of 64-bit virtual registers,
``Reg``: plain numbers. Registers may be written more than once (a loop counter); the builder hands out a fresh one for
each result, and what is written once is optimised best. There is nothing of the kernel's ten registers, of stack
offsets or of branch distances here.

One class serves all operations; ``kind`` says which, and so which fields mean something:

    kind      dst   args                     name          imm           size           off           flag
    const     d                                            value
    mov       d     a                                                    bits 32|64 (32 clears the upper half)
    alu       d     a [b]                    operation     b, if no b    bits 32|64
    neg       d     a                                                    bits 32|64
    sext      d     a                                                    from bits 8|16|32       (ISA v4)
    swap      d     a                        be le swap                  bits 16|32|64           ("swap" is ISA v4)
    load      d     base                                                 bytes          offset        signed (ISA v4)
    store           base [value]                           value, if no  bytes          offset
    atomic    [d]   base value               operation                   bytes 4|8      offset
    cmpxchg   d     base expected new                                    bytes 4|8      offset
    call      [d]   up to 5                  helper                                                   pure
    kfunc     [d]   up to 5                  kernel function                                          pure
    local     [d]   up to 5                  function of this program
    function  d                              function of this program    (its address, for callbacks)
    map       d                              map           (its pointer)
    mapvalue  d                              map                                        offset into its one value
    slot      d                                            slot index                   offset into the slot
    begin,end                                              slot index    (the slot's content is worthless outside)
    ---- terminators: ``targets`` are the blocks, in this order
    jump                                                                                (to,)
    branch          a [b]                    comparison    b, if no b    bits 32|64     (then, otherwise)
    may_goto                                               turns at most                (stop, go on)
    exit            [a]                                    value, if no a

alu: add sub mul div mod and or xor shl shr sar sdiv smod (sdiv, smod: ISA v4). comparison: eq ne lt le gt ge slt sle
sgt sge set (set: a & b is not 0). atomic: add and or xor (no result), fetch_add fetch_and fetch_or fetch_xor xchg
(result: the old value).

Meaning is that of the BPF ISA (Documentation/bpf/standardization/instruction-set.rst): 32-bit operations clear the
upper half of their result, x/0 is 0, x%0 is x, shift counts are taken modulo the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NewType

from probescope.diagnostics import NOWHERE, Span
from probescope.frozen import dataclass

Reg = NewType("Reg", int)
NONE = Reg(-1)

Alu = Literal["add", "sub", "mul", "div", "mod", "and", "or", "xor", "shl", "shr", "sar", "sdiv", "smod"]
Cond = Literal["eq", "ne", "lt", "le", "gt", "ge", "slt", "sle", "sgt", "sge", "set"]
Atomic = Literal["add", "and", "or", "xor"]
Fetch = Literal["fetch_add", "fetch_and", "fetch_or", "fetch_xor", "xchg"]

ENDLESS = 1 << 32
"""Turns of a loop that nobody knows a limit of."""

TERMINATORS = frozenset({"jump", "branch", "may_goto", "exit"})

# What the frame pointer, a map or a number can give again at any place, without keeping it.
CHEAP = frozenset({"const", "map", "mapvalue", "slot", "function"})

# Kinds with no effect but their result: dead when the result is. (call and kfunc: see ``flag``.)
PURE = frozenset({"const", "mov", "alu", "neg", "sext", "swap", "load", "function", "map", "mapvalue", "slot"})

PURE_HELPERS = frozenset(
    """
    map_lookup_elem map_lookup_percpu_elem ktime_get_ns ktime_get_boot_ns ktime_get_coarse_ns ktime_get_tai_ns jiffies64
    get_smp_processor_id get_numa_node_id get_current_pid_tgid get_current_uid_gid get_current_cgroup_id
    get_current_task get_current_task_btf get_current_ancestor_cgroup_id get_cgroup_classid get_attach_cookie
    get_func_ip get_func_arg_cnt get_prandom_u32 per_cpu_ptr this_cpu_ptr ringbuf_query strncmp task_pt_regs
    get_netns_cookie
    """.split()
)
"""Helpers that only compute their result and write through no pointer: a call whose result nobody reads is dropped."""

MASK64 = (1 << 64) - 1


class Op:
    """One operation; see the module's table. Mutable: passes rewrite it in place."""

    __slots__ = ("args", "dst", "flag", "imm", "kind", "name", "off", "size", "span", "targets")

    def __init__(
        self,
        kind: str,
        dst: Reg = NONE,
        args: tuple[Reg, ...] = (),
        *,
        name: str = "",
        imm: int = 0,
        size: int = 64,
        off: int = 0,
        flag: bool = False,
        targets: tuple[Block, ...] = (),
        span: Span = NOWHERE,
    ) -> None:
        self.kind = kind
        self.dst = dst
        self.args = args
        self.name = name
        self.imm = imm
        self.size = size
        self.off = off
        self.flag = flag
        self.targets = targets
        self.span = span

    @property
    def pure(self) -> bool:
        """No effect but the result."""
        return self.kind in PURE or (self.flag and self.kind in {"call", "kfunc"})

    def __repr__(self) -> str:
        return show(self)


class Block:
    """``number`` is unique in its function; ``cold`` blocks (error paths) are laid out last, off the straight path."""

    __slots__ = ("cold", "number", "ops")

    def __init__(self, number: int, *, cold: bool = False) -> None:
        self.number = number
        self.ops: list[Op] = []
        self.cold = cold

    @property
    def targets(self) -> tuple[Block, ...]:
        return self.ops[-1].targets if self.ops else ()

    def __repr__(self) -> str:
        return f"b{self.number}"


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of the stack frame: ``size`` and ``align`` in bytes; its offset is the allocator's business."""

    index: int
    size: int
    align: int = 8
    name: str = ""


class Function:
    """``kind``: the program itself, or a subprogram: reached by ``local`` calls, or a ``callback`` given to a helper.
    ``parameters`` (at most 5) arrive in argument order; the program's only one is its context. ``regs``: how many
    registers exist."""

    __slots__ = ("blocks", "kind", "name", "parameters", "regs", "slots", "span")

    def __init__(self, name: str, kind: Literal["main", "local", "callback"] = "main") -> None:
        self.name = name
        self.kind = kind
        self.parameters: tuple[Reg, ...] = ()
        self.blocks: list[Block] = []
        self.slots: list[Slot] = []
        self.regs = 0
        self.span = NOWHERE

    def new_reg(self) -> Reg:
        self.regs += 1
        return Reg(self.regs - 1)

    def ops(self) -> Iterator[Op]:
        for block in self.blocks:
            yield from block.ops

    def __str__(self) -> str:
        return "\n".join(_lines(self))


COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor"})


def overwrites(op: Op, dst: Reg) -> bool:
    """Whether ``dst`` as the result would destroy an operand that the instruction still reads: it works on the register
    of its result (``x = a - x`` is ``x = a; x -= x``)."""
    if op.kind == "atomic":
        return dst == op.args[0]
    return op.kind == "alu" and dst in op.args[1:] and dst != op.args[0] and op.name not in COMMUTATIVE


def signed64(value: int) -> int:
    """The value wrapped to 64 bits, as a signed number: the form in which ``imm`` is kept."""
    value &= MASK64
    return value - (1 << 64) if value >> 63 else value


def fits32(value: int) -> bool:
    """Whether an instruction's sign-extended 32-bit immediate can hold it."""
    return -0x80000000 <= value <= 0x7FFFFFFF


# --- as text: for tests and debugging ---------------------------------------------------------------------


def _lines(function: Function) -> Iterable[str]:
    yield f"{function.kind} {function.name}({', '.join(f'%{p}' for p in function.parameters)})"
    for slot in function.slots:
        yield f"  slot {slot.index} {slot.name or '-'}: {slot.size} align {slot.align}"
    for block in function.blocks:
        yield f"{block}:{' cold' if block.cold else ''}"
        yield from (f"  {show(op)}" for op in block.ops)


def show(op: Op) -> str:
    """``%3 = alu add %1, 8``; sizes are shown where they are not 64 bits or 8 bytes."""
    words = [op.kind, op.name]
    if op.size != (8 if op.kind in _BYTES else 64):
        words.append(str(op.size))
    if op.flag and op.kind == "load":
        words.append("signed")
    operands = [f"%{a}" for a in op.args]
    if _has_imm(op):
        operands.append(str(op.imm))
    if op.off:
        operands.append(f"{op.off:+d}")
    operands += [repr(t) for t in op.targets]
    text = " ".join([w for w in words if w] + ([", ".join(operands)] if operands else []))
    return f"%{op.dst} = {text}" if op.dst >= 0 else text


_BYTES = frozenset({"load", "store", "atomic", "cmpxchg"})
_IMM_BELOW = {"alu": 2, "branch": 2, "store": 2, "exit": 1}


def _has_imm(op: Op) -> bool:
    return op.kind in {"const", "slot", "begin", "end"} or len(op.args) < _IMM_BELOW.get(op.kind, 0)
