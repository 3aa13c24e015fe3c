"""Patterns (model/pattern.py) as automata over bytes.

    Nfa    what a pattern means: read a byte at a time, keep the set of states. evaluate/ runs it as it is.
    Dfa    the same with one state at a time, as a table: programs in the kernel run that.

A text matches if the accepting state is reached anywhere; ``begin`` and ``end`` are edges that can be taken only there.
"""

from __future__ import annotations

from collections.abc import Iterable

from probescope.frozen import dataclass
from probescope.model.pattern import Node, PatternError, parse_glob, parse_regex

MOST_NFA = 4000
MOST_RAW = 2000  # states before equal ones are put together
MOST_DFA = 250  # a state is a byte
MOST_TABLE = 32 << 10
DEAD, SURE = 0, 1

Set = frozenset[int]


class Nfa:
    """``empty``: edges that read nothing, by state; those of ``begin`` and ``end`` hold only at the ends of the text.
    ``moves``: (mask of bytes, target) by state."""

    def __init__(self, tree: Node) -> None:
        self.empty: list[list[int]] = []
        self.begin: dict[int, list[int]] = {}
        self.end: dict[int, list[int]] = {}
        self.moves: list[tuple[int, int] | None] = []
        self.start = self._state()
        self.accept = self._build(tree, self.start)
        self._closures: dict[tuple[Set, bool, bool], Set] = {}

    def _state(self) -> int:
        if len(self.empty) >= MOST_NFA:
            raise PatternError("the pattern is too long", 0, "smaller counts in {m,n} make it shorter")
        self.empty.append([])
        self.moves.append(None)
        return len(self.empty) - 1

    def _build(self, node: Node, at: int) -> int:
        """Appends ``node`` behind state ``at``; gives the state behind it."""
        match node:
            case ("set", mask):
                out, inner = self._state(), self._state()
                self.empty[at].append(inner)
                self.moves[inner] = (mask, out)
                return out
            case ("cat", nodes):
                for n in nodes:
                    at = self._build(n, at)
                return at
            case ("alt", nodes):
                out = self._state()
                for n in nodes:
                    first = self._state()
                    self.empty[at].append(first)
                    self.empty[self._build(n, first)].append(out)
                return out
            case ("rep", inner_node, least, most):
                return self._repeat(inner_node, least, most, at)
            case (kind,):
                out = self._state()
                (self.begin if kind == "begin" else self.end).setdefault(at, []).append(out)
                return out
            case _:
                raise AssertionError(node)

    def _repeat(self, node: Node, least: int, most: int | None, at: int) -> int:
        for _ in range(least):
            at = self._build(node, at)
        if most is None:
            loop = self._state()
            self.empty[at].append(loop)
            self.empty[self._build(node, loop)].append(loop)
            return loop
        out = self._state()
        self.empty[at].append(out)
        for _ in range(most - least):
            at = self._build(node, at)
            self.empty[at].append(out)
        return out

    def closure(self, states: Iterable[int], *, begin: bool = False, end: bool = False) -> Set:
        """All that can be reached without reading."""
        seen = set(states)
        key = (frozenset(seen), begin, end)
        found = self._closures.get(key)
        if found is not None:
            return found
        work = list(seen)
        while work:
            s = work.pop()
            more = self.empty[s] + (self.begin.get(s, []) if begin else []) + (self.end.get(s, []) if end else [])
            fresh = [t for t in more if t not in seen]
            seen.update(fresh)
            work += fresh
        if len(self._closures) < MOST_RAW:
            self._closures[key] = frozenset(seen)
        return frozenset(seen)

    def first(self) -> Set:
        return self.closure((self.start,), begin=True)

    def step(self, states: Set, byte: int) -> Set:
        """A match may also begin behind the byte."""
        moves = (m for s in states if (m := self.moves[s]) is not None)
        return self.closure({self.start, *(t for mask, t in moves if mask >> byte & 1)})

    def matches(self, text: bytes) -> bool:
        states = self.first()
        for byte in text:
            if self.accept in states:
                return True
            states = self.step(states, byte)
        return self.accept in self.closure(states, begin=not text, end=True)


@dataclass(frozen=True, slots=True)
class Dfa:
    """``classes[byte]``: its class. ``table[state << bits | class]``: the next state. NUL, which no text holds, is the
    end of the text: it leads to state 1, which matches, or to 0, which does not; both are left by nothing."""

    start: int
    bits: int
    classes: bytes
    table: bytes

    def matches(self, text: bytes) -> bool:
        state = self.start
        for byte in (*text, 0):
            state = self.table[state << self.bits | self.classes[byte]]
        return state == SURE


def dfa(nfa: Nfa) -> Dfa:
    """Raises PatternError where it would need too many states."""
    classes, samples = _classes(nfa)
    rows, final = _subsets(nfa, samples)
    part = _equal(rows, final)
    return _numbered(rows, final, part, classes, len(samples))


def _classes(nfa: Nfa) -> tuple[bytes, list[int]]:
    """The class of each byte, and a byte of each class: bytes that no move tells apart are one class."""
    masks = list(dict.fromkeys(m[0] for m in nfa.moves if m is not None))
    numbers: dict[tuple[int, ...], int] = {}
    samples: list[int] = []
    out = bytearray(256)
    for byte in range(256):
        key = tuple(m >> byte & 1 for m in masks)
        if key not in numbers:
            numbers[key] = len(samples)
            samples.append(byte)
        out[byte] = numbers[key]
    return bytes(out), samples


def _subsets(nfa: Nfa, samples: list[int]) -> tuple[list[list[int]], list[int]]:
    """Rows of next states by class, the start first; and of each state 2: matches whatever follows, 1: at the end,
    0."""
    numbers: dict[tuple[Set, bool], int] = {(nfa.first(), True): 0}
    work = list(numbers)
    rows: list[list[int]] = []
    final: list[int] = []
    for states, begin in work:  # grows
        if nfa.accept in states:
            final.append(2)
            rows.append([len(rows)] * len(samples))
            continue
        final.append(int(nfa.accept in nfa.closure(states, begin=begin, end=True)))
        row = []
        for byte in samples:
            key = (nfa.step(states, byte), False)
            if key not in numbers:
                if len(numbers) >= MOST_RAW:
                    raise _too_many()
                numbers[key] = len(numbers)
                work.append(key)
            row.append(numbers[key])
        rows.append(row)
    return rows, final


def _too_many() -> PatternError:
    hint = "anchor it with ^, give repetitions a smaller count, or use two patterns"
    return PatternError("the pattern needs too many states", 0, hint)


def _equal(rows: list[list[int]], final: list[int]) -> list[int]:
    """The part that each state belongs to: states of a part cannot be told apart by what follows (Moore)."""
    part = final
    count = len(set(part))
    while True:
        keys: dict[tuple[int, ...], int] = {}
        part = [keys.setdefault((part[s], *(part[t] for t in rows[s])), len(keys)) for s in range(len(rows))]
        if len(keys) == count:
            return part
        count = len(keys)


def _numbered(rows: list[list[int]], final: list[int], part: list[int], classes: bytes, width: int) -> Dfa:
    """Dead and sure states have fixed numbers."""
    example = {p: s for s, p in reversed(list(enumerate(part)))}
    number: dict[int, int] = {}
    for p, s in example.items():
        if final[s] == 2:
            number[p] = SURE
        elif not final[s] and all(part[t] == p for t in rows[s]):
            number[p] = DEAD
    rest = [p for p in example if p not in number]
    number |= {p: i + 2 for i, p in enumerate(rest)}
    bits, states = max(1, width.bit_length()), len(rest) + 2
    if states > MOST_DFA or states << bits > MOST_TABLE:
        raise _too_many()
    table = bytearray(states << bits)
    table[SURE << bits : (SURE + 1) << bits] = bytes([SURE]) * (1 << bits)
    for p in rest:
        s = example[p]
        row = bytes([*(number[part[t]] for t in rows[s]), SURE if final[s] else DEAD])
        table[number[p] << bits : (number[p] << bits) + width + 1] = row
    return Dfa(number[part[0]], bits, bytes([width]) + classes[1:], bytes(table))


# --- by name ----------------------------------------------------------------------------------------------------------

_KNOWN: dict[tuple[str, bytes], Nfa] = {}
_TABLES: dict[tuple[str, bytes], Dfa] = {}
PARSERS = {"strglob": parse_glob, "strmatch": parse_regex}
"""Intrinsics whose second argument is a pattern."""


def nfa_of(function: str, pattern: bytes) -> Nfa:
    """Remembered: evaluate/ asks for it at every event. Raises PatternError."""
    key = (function, pattern)
    if key not in _KNOWN:
        _KNOWN[key] = Nfa(PARSERS[function](pattern.decode("utf-8", "surrogateescape")))
    return _KNOWN[key]


def dfa_of(function: str, pattern: bytes) -> Dfa:
    """Raises PatternError."""
    key = (function, pattern)
    if key not in _TABLES:
        _TABLES[key] = dfa(nfa_of(function, pattern))
    return _TABLES[key]
