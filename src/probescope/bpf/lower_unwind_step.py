"""One frame of a walk by unwind tables: the callback of the loop in lower_unwind.py.

    pc -> mapping (the last one, or searched) -> bundle -> block of rows (searched) -> rule -> the caller's registers

Searches halve without branches, so that the verifier has one path to follow through all of their steps, and calculate
nothing that it must know the bounds of: indices go to helpers by memory.
"""

from __future__ import annotations

from typing import Final

from probescope.bpf.builder import Builder, Size
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower
from probescope.bpf.pieces import UNWIND_TABLES
from probescope.model import unwind as u

WHYS: Final = {"depth": 0, "end": 1, "table": 2, "rule": 3, "read": 4}
CTX_STATE, CTX_MAPS, CTX_COUNT, CTX_BYTES = 0, 8, 16, 24
_GO_ON, _STOP = 0, 1
_MIX: Final = 0x9E3779B97F4A7C15
_SEED: Final = 0x243F6A8885A308D3


class State:
    """The memory of a walk: what the table of stacks keeps comes first, then the walk's own::

        hash | frames, why | depth frames | ip | sp | fp | after | mapping of the last frame | read

    ``after``: 1 where ip is a return address, the call before it; 0 where the frame was interrupted."""

    HASH, FRAMES, WHY = 0, 8, 12
    __slots__ = ("depth", "ip", "mapping", "read")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.ip = u.STACK_HEAD + 8 * depth
        self.mapping = self.ip + 32
        self.read = self.mapping + u.MAPPING.size

    @property
    def sp(self) -> int:
        return self.ip + 8

    @property
    def fp(self) -> int:
        return self.ip + 16

    @property
    def after(self) -> int:
        return self.ip + 24

    @property
    def bytes(self) -> int:
        return self.read + 8

    def begin(self, b: Builder, memory: Reg, ip: Reg, sp: Reg, fp: Reg) -> None:
        b.store(memory, self.HASH, b.const(_SEED), 8)
        b.store_imm(memory, self.FRAMES, 0, 8)
        b.store(memory, self.ip, ip, 8)
        b.store(memory, self.sp, sp, 8)
        b.store(memory, self.fp, fp, 8)
        b.store_imm(memory, self.after, 0, 8)
        b.store_imm(memory, self.mapping + 8, 0, 8)  # no mapping yet: it has no bytes


class _Step:
    """What the parts of one step share."""

    def __init__(self, l: Lower, b: Builder, state: State) -> None:
        self.l, self.b, self.s = l, b, state
        ctx = b.parameters[1]
        self.memory = b.load(ctx, CTX_STATE, 8)
        self.maps = b.load(ctx, CTX_MAPS, 8)
        self.count = b.load(ctx, CTX_COUNT, 8)
        self.key = b.slot(8, name="unwind row")
        self.cold: dict[str, Block] = {}

    def load(self, off: int, size: Size = 8) -> Reg:
        return self.b.load(self.memory, off, size)

    def save(self, off: int, value: Reg, size: Size = 8) -> None:
        self.b.store(self.memory, off, value, size)

    def stop(self, why: str) -> Block:
        """Where a walk ends for this reason."""
        if why not in self.cold:
            self.cold[why] = self.b.block(cold=True)
        return self.cold[why]

    def lookup(self, map_: Reg, index: Reg, otherwise: Block) -> Reg:
        b = self.b
        b.store_slot(self.key, 0, index, 4)
        found = b.call("map_lookup_elem", map_, b.slot_address(self.key))
        on = b.block()
        b.branch_imm("ne", found, 0, on, otherwise)
        b.place(on)
        return found

    def read(self, address: Reg, otherwise: Block) -> Reg:
        """A u64 of user memory."""
        b = self.b
        spot = b.alu_imm("add", self.memory, self.s.read)
        answer = b.call("probe_read_user", spot, b.const(8), address)
        on = b.block()
        b.branch_imm("eq", answer, 0, on, otherwise)
        b.place(on)
        return self.load(self.s.read)


def step(l: Lower, b: Builder, state: State) -> None:
    """Notes the frame and finds its caller's registers; gives 1 when there is none, 0 to go on."""
    w = _Step(l, b, state)
    guess = b.block(cold=True)  # no rule: by the frame pointer
    ip = _note(w, b.parameters[0])
    pc = b.alu("sub", ip, w.load(state.after))
    why = b.reg()
    b.assign_imm(why, WHYS["table"])
    _mapping(w, pc, guess)
    rule = _rule(w, pc, guess)
    b.assign_imm(why, WHYS["rule"])
    _apply(w, rule, ip, guess, why)
    _by_frame_pointer(w, guess, why)
    for name, block in list(w.cold.items()):
        b.place(block)
        b.store_imm(w.memory, state.WHY, WHYS[name], 4)
        b.exit_imm(_STOP)


def _note(w: _Step, index: Reg) -> Reg:
    """Puts the frame down, and into the hash."""
    b, s = w.b, w.s
    over, on = b.block(cold=True), b.block()
    b.branch_imm("ge", index, s.depth, over, on)
    b.place(over)
    b.exit_imm(_STOP)
    b.place(on)
    ip = w.load(s.ip)
    b.store(b.alu("add", w.memory, b.alu_imm("shl", index, 3)), u.STACK_HEAD, ip, 8)
    w.save(s.FRAMES, b.alu_imm("add", index, 1), 4)
    mixed = b.alu("mul", b.alu("xor", w.load(s.HASH), ip), b.const(_MIX))
    w.save(s.HASH, b.alu("xor", mixed, b.alu_imm("shr", mixed, 29)))
    return ip


def _search(w: _Step, map_: Reg, first: Reg, count: Reg, pc: Reg, steps: int, size: Size, otherwise: Block) -> Reg:
    """The last element whose first number is not greater than ``pc``, of ``count`` elements from ``first`` on, which it
    is if there is none. ``size``: of that number."""
    b = w.b
    low, high, done = b.copy(first), b.alu("add", first, count), b.block()
    for _ in range(steps):
        more = b.block()
        b.branch_imm("le", b.alu("sub", high, low), 1, done, more)
        b.place(more)
        middle = b.alu_imm("shr", b.alu("add", low, high), 1)
        there = b.load(w.lookup(map_, middle, otherwise), 0, size)
        # all ones if there <= pc: both are far below 2**63
        upper = b.alu_imm("sar", b.alu_imm("sub", b.alu("sub", there, pc), 1), 63)
        b.alu("add", low, b.alu("and", b.alu("sub", middle, low), upper), into=low)
        b.alu("add", middle, b.alu("and", b.alu("sub", high, middle), upper), into=high)
    b.place(done)
    return low


def _mapping(w: _Step, pc: Reg, otherwise: Block) -> None:
    """Makes the state's mapping the one that ``pc`` lies in."""
    b, s = w.b, w.s
    known, search = b.block(), b.block(cold=True)
    b.branch("lt", b.alu("sub", pc, w.load(s.mapping)), w.load(s.mapping + 8), known, search)
    b.place(search)
    high, user = b.alu_imm("shr", pc, 47), b.block()
    b.branch_imm("eq", high, 0, user, otherwise)
    b.place(user)
    count = b.alu_imm("add", w.count, 1)  # element 0 says how many there are: no pc is below it
    at = _search(w, w.maps, b.const(0), count, pc, u.MAPPING_STEPS, 8, otherwise)
    some = b.block()
    b.branch_imm("ne", at, 0, some, otherwise)
    b.place(some)
    row = w.lookup(w.maps, at, otherwise)
    inside = b.block()
    b.branch("lt", b.alu("sub", pc, b.load(row, 0, 8)), b.load(row, 8, 8), inside, otherwise)
    b.place(inside)
    for off in range(0, u.MAPPING.size, 8):
        w.save(s.mapping + off, b.load(row, off, 8))
    b.jump(known)
    b.place(known)


def _rule(w: _Step, pc: Reg, otherwise: Block) -> Reg:
    b, s = w.b, w.s
    target = b.alu("sub", pc, w.load(s.mapping + 16))
    small = b.block()
    b.branch_imm("lt", b.alu_imm("shr", target, 32), 1, small, otherwise)
    b.place(small)
    bundles = b.map(w.l.pieces.use_unwind(UNWIND_TABLES))
    bundle = w.lookup(bundles, w.load(s.mapping + 24, 4), otherwise)
    first_block, blocks = w.load(s.mapping + 28, 4), w.load(s.mapping + 32, 4)
    at = _search(w, bundle, first_block, blocks, target, u.BLOCK_STEPS, 4, otherwise)
    block = w.lookup(bundle, at, otherwise)
    row = b.reg()
    b.assign(row, block)
    half = u.BLOCK // 2
    while half:
        first = b.load(row, half * u.ROW, 4)
        upper = b.alu_imm("shr", b.alu_imm("sub", b.alu("sub", first, target), 1), 63)  # 1 if first <= target
        b.alu("add", row, b.alu_imm("mul", upper, half * u.ROW), into=row)
        half //= 2
    reached = b.block()
    b.branch("le", b.load(row, 0, 4), target, reached, otherwise)
    b.place(reached)
    return b.load(row, 4, 4)


def _apply(w: _Step, rule: Reg, ip: Reg, otherwise: Block, why: Reg) -> None:
    """By the kind of the rule: the CFA, then what lies around it."""
    b, s = w.b, w.s
    kind = b.alu_imm("and", rule, 0xF)
    number = b.alu_imm("shl", b.alu_imm("sar", b.alu_imm("shl", rule, 32), 32 + u.NUMBER_SHIFT), 3)
    cfa, found, rare = b.reg(), b.block(), b.block(cold=True)
    by_sp, by_fp, not_sp = b.block(), b.block(), b.block()
    b.branch_imm("eq", kind, u.SP, by_sp, not_sp)
    b.place(not_sp)
    b.branch_imm("eq", kind, u.FP, by_fp, rare)
    b.place(by_fp)
    b.alu("add", w.load(s.fp), number, into=cfa)
    b.jump(found)
    b.place(by_sp)
    b.alu("add", w.load(s.sp), number, into=cfa)
    b.jump(found)
    b.place(found)
    _callers(w, rule, cfa)
    b.place(rare)
    _rare(w, kind, number, ip, cfa, found, otherwise, why)


def _callers(w: _Step, rule: Reg, cfa: Reg) -> None:
    """The caller's registers; the step is over then."""
    b, s = w.b, w.s
    unreadable = w.stop("read")
    ip = w.read(b.alu_imm("sub", cfa, 8), unreadable)
    w.save(s.ip, ip)
    slot = b.alu_imm("sar", b.alu_imm("shl", rule, 64 - u.NUMBER_SHIFT), 64 - u.SLOT_BITS)
    moved, special, plain, kept = b.block(), b.block(cold=True), b.block(), b.block()
    b.branch_imm("ne", slot, 0, moved, kept)
    b.place(moved)
    at = b.reg()
    b.branch_imm("eq", slot, u.AT_FRAME, special, plain)
    b.place(plain)
    b.alu("add", cfa, b.alu_imm("shl", slot, 3), into=at)
    read = b.block()
    b.jump(read)
    b.place(special)
    b.assign(at, w.load(s.fp))
    b.jump(read)
    b.place(read)
    w.save(s.fp, w.read(at, unreadable))
    b.jump(kept)
    b.place(kept)
    w.save(s.sp, cfa)
    b.store_imm(w.memory, s.after, 1, 8)
    _go_on(w, w.load(s.ip))


def _go_on(w: _Step, ip: Reg) -> None:
    """An address of 0 is that of nobody."""
    b = w.b
    on = b.block()
    b.branch_imm("ne", ip, 0, on, w.stop("end"))
    b.place(on)
    b.exit_imm(_GO_ON)


def _rare(w: _Step, kind: Reg, number: Reg, ip: Reg, cfa: Reg, found: Block, otherwise: Block, why: Reg) -> None:
    b, s = w.b, w.s
    arms = {kind_: b.block(cold=True) for kind_ in (u.PLT, u.AT_SP, u.AT_FP, u.SIGNAL, u.GAP)}
    for value, block in arms.items():
        following = b.block(cold=True)
        b.branch_imm("eq", kind, value, block, following)
        b.place(following)
    b.branch_imm("eq", kind, u.END, w.stop("end"), otherwise)
    b.place(arms[u.GAP])
    b.assign_imm(why, WHYS["table"])
    b.jump(otherwise)
    b.place(arms[u.PLT])
    late, early, pushed = b.block(cold=True), b.block(cold=True), b.reg()
    b.assign_imm(pushed, 8)
    b.branch("ge", b.alu_imm("and", ip, 15), b.alu_imm("shr", number, 3), late, early)
    b.place(late)
    b.assign_imm(pushed, 16)
    b.jump(early)
    b.place(early)
    b.alu("add", w.load(s.sp), pushed, into=cfa)
    b.jump(found)
    for value, register in ((u.AT_SP, s.sp), (u.AT_FP, s.fp)):
        b.place(arms[value])
        b.assign(cfa, w.read(b.alu("add", w.load(register), number), w.stop("read")))
        b.jump(found)
    b.place(arms[u.SIGNAL])
    _signal(w)


def _signal(w: _Step) -> None:
    """The registers of the frame that a signal interrupted, from where the kernel put them."""
    b, s = w.b, w.s
    sp = w.load(s.sp)
    for off, to in ((u.SIGNAL_BP, s.fp), (u.SIGNAL_IP, s.ip), (u.SIGNAL_SP, s.sp)):
        w.save(to, w.read(b.alu_imm("add", sp, off), w.stop("read")))
    b.store_imm(w.memory, s.after, 0, 8)
    _go_on(w, w.load(s.ip))


def _by_frame_pointer(w: _Step, guess: Block, why: Reg) -> None:
    """Code of a JIT compiler, or assembly: many keep a frame pointer. What cannot be one ends the walk."""
    b, s = w.b, w.s
    b.place(guess)
    fp = w.load(s.fp)
    ends = b.block(cold=True)
    aligned, near = b.block(cold=True), b.block(cold=True)
    b.branch_imm("eq", b.alu_imm("and", fp, 7), 0, aligned, ends)
    b.place(aligned)
    b.branch_imm("lt", b.alu("sub", fp, w.load(s.sp)), u.MOST_FRAME, near, ends)
    b.place(near)
    caller = w.read(fp, ends)
    w.save(s.fp, caller)
    ip = w.read(b.alu_imm("add", fp, 8), ends)
    w.save(s.ip, ip)
    w.save(s.sp, b.alu_imm("add", fp, 16))
    b.store_imm(w.memory, s.after, 1, 8)
    _go_on(w, ip)
    b.place(ends)
    b.store(w.memory, s.WHY, why, 4)
    b.exit_imm(_STOP)
