"""Globs and regular expressions in this kernel: what the compiled program says is what evaluate/ says, which in turn
is held to Python's ``re`` by property tests."""

import ctypes
import random

import pytest
from bpf_object import FEATURES, load, program

from probescope.evaluate.machine import Machine
from probescope.evaluate.store import MemoryStore
from probescope.evaluate.world import Blank
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import MapDecl
from probescope.ir.rules import check
from probescope.model.types import BOOL, U64, String

REGEXES = [
    rb"^a*b$", rb"b", rb"(ab|ba)+", rb"a{2,3}b", rb"[^ab]", rb"c$", rb"^$", rb"", rb"\d+\.so", rb"(?i)ABBA",
    rb"(a|b)*a(a|b){3}$", rb"x\x01", "é".encode(), rb"^.{5}$", rb"z|^b.*a$",
]  # fmt: skip
GLOBS = [b"*", b"", b"a*", b"*b", b"?b*", b"[ab]*[!c]", b"*a*b*", b"abba", b"a" * 40 + b"*"]
CALLS = [("strmatch", p) for p in REGEXES] + [("strglob", p) for p in GLOBS]
SIZES = (5, 64, 300, 1024)


class Fired(Blank):
    def __init__(self, base, memory, at):
        self._base, self._memory, self._at = base, memory, at

    def argument(self, index):
        return self._base + self._at

    def read(self, space, address, size):
        return self._memory[address - self._base :][:size]


def _texts():
    """Texts one after the other, each with its NUL; long ones; one that fills any room."""
    rng = random.Random(1)
    out = [bytes(rng.choice(b"ababcxz.1") for _ in range(rng.randrange(12))) for _ in range(60)]
    out += [b"a" * 39 + b"b", b"a" * 60, b"libc.so.6", b"x1.so", "né".encode(), b"x\x01", b"abBA", b"a" * 1500 + b"b"]
    return out


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("features", FEATURES)
def test_the_kernel_agrees(size, features):
    """Every pattern on every text, with texts that end at a NUL and such that fill their room."""
    texts = _texts()
    memory = b"\0".join(texts) + bytes(2048)
    buffer = ctypes.create_string_buffer(memory, len(memory))
    starts = [sum(len(t) + 1 for t in texts[:i]) for i in range(len(texts))]
    read = x.ReadStr(String(size), "user", x.Arg(U64, 0))
    sets = [s.MapSet(f"r{i}", None, _call(read, *c)) for i, c in enumerate(CALLS)]
    made = program(sets, maps=tuple(MapDecl(f"r{i}", None, BOOL) for i in range(len(CALLS))))
    check(made)
    store = MemoryStore(made)
    machine = Machine(made, store, lambda _action, _values: None)
    with load(made, FEATURES[features]) as loaded:
        for start in starts:
            machine.run(0, Fired(ctypes.addressof(buffer), memory, start))
            loaded.run(ctypes.addressof(buffer) + start)
            got = {c: bool(loaded.map(f"r{i}")[None]) for i, c in enumerate(CALLS)}
            assert got == {c: bool(store.get(f"r{i}", None)) for i, c in enumerate(CALLS)}, memory[start:][:40]


def _call(read, name, pattern):
    return x.Call(BOOL, name, (read, x.Const(String(max(1, len(pattern))), pattern)))
