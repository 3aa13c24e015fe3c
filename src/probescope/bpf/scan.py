"""What must be known of a clause before it is lowered: how each loop will run, and where its variables can live.

A loop runs in one of three ways:

    bounded    plain jumps; the verifier walks through every turn: a few turns, known in number, or many that only
               calculate (``counted``)
    goto       jumps under ``may_goto`` (6.9): the verifier looks at a few turns only, if it is good at it (LIVENESS)
    callback   ``bpf_loop`` (5.17), ``bpf_for_each_map_elem`` (5.13): the body is a function of its own

A variable used inside such a function and outside of it, or carried from turn to turn, is *captured*: it lives in the
program's stack frame, whose address the functions get. The others are registers of whoever uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from probescope.bpf.counted import PLAIN_NODES, known_after, plain, while_turns
from probescope.bpf.storage import Storage
from probescope.frozen import dataclass, field
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import Clause
from probescope.ir.walk import Node, children, clause_nodes, walk
from probescope.model.features import Features
from probescope.model.types import U64, Agg, Buffer, Int, String, Tuple, Type, wrap

Way = Literal["bounded", "goto", "callback"]

BOUNDED_NODES = 600
"""Turns times the weight of the body up to which a loop is walked through by the verifier."""

LIVENESS = "kernel:stack_liveness"
"""The feature that the verifier knows beforehand which registers and stack slots are of no use any more ("bpf: replace
path-sensitive with path-insensitive live stack analysis", 6.18). Without it a loop in the program itself is compared
with all that its turns left lying around, and soon is too complex; a callback leaves nothing."""

_A_TURN = 3
"""Weight of one byte in the loops over texts."""

_TEXT_CALLS = frozenset({"strlen", "strncmp", "strstr", "strcontains", "memcmp", "strglob", "strmatch"})

SIMPLE_NODES = 100
"""Weight of a loop up to which it is jumps in the program itself: 1 ns a turn less than a callback, but every way
through its body that leaves something else behind is another state to the verifier."""

FALLBACK_TURNS = 64
"""Turns of a loop on kernels that can neither call back nor ``may_goto``."""


@dataclass(frozen=True, slots=True)
class Use:
    """One mention of a variable. ``path``: the statement lists around it, outermost first; ``direct``: it is assigned
    here by a statement of the last list."""

    path: tuple[int, ...]
    direct: bool


@dataclass(slots=True)
class Scan:
    """``ways``: of each loop, by ``id`` of its statement. ``unset``: variables that may be read before they are
    assigned. ``captured``: see above. ``addressed``: variables whose address is asked for. ``fallback``: some loop
    had to be cut to ``FALLBACK_TURNS``. ``assigned``: variables that a loop changes, by ``id``. ``in_predicate``:
    variables that the predicate mentions. ``in_callback``: that a callback mentions. ``names``: all that are
    mentioned. ``comms``: how often ``comm`` is asked. ``counted``: loops known to turn so often, by ``id``; at least
    once."""

    ways: dict[int, Way] = field(default_factory=dict[int, Way])
    unset: set[str] = field(default_factory=set[str])
    captured: set[str] = field(default_factory=set[str])
    addressed: set[str] = field(default_factory=set[str])
    assigned: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    in_predicate: set[str] = field(default_factory=set[str])
    names: set[str] = field(default_factory=set[str])
    in_callback: set[str] = field(default_factory=set[str])
    fallback: bool = False
    comms: int = 0
    counted: dict[int, int] = field(default_factory=dict[int, int])


def scan(
    clause: Clause, features: Features, most: int, uncounted: frozenset[int] = frozenset(), *, callback: bool = False
) -> Scan:
    """``most``: turns that any loop may make. ``uncounted``: loops that must not be counted, by ``id``. ``callback``:
    rather than under may_goto."""
    out = Scan()
    scanner = _Scanner(features, out, most, uncounted, callback)
    if clause.predicate is not None:
        scanner.node(clause.predicate, (0,))
        out.in_predicate = set(scanner.uses)
    scanner.body(clause.body, (0,))
    for name, uses in scanner.uses.items():
        scanner.classify(name, uses)
    # the verifier forgets what captured variables hold, and would never see the end
    blind = frozenset(i for i in out.counted if out.assigned[i] & out.captured)
    return scan(clause, features, most, uncounted | blind, callback=callback) if blind else out


def variable_types(clause: Clause, storages: Mapping[str, Storage]) -> dict[str, Type]:
    """All variables of a clause, those of loops included."""
    out = {v.name: v.type for v in clause.variables}
    for node in clause_nodes(clause):
        if isinstance(node, s.ForRange):
            out[node.name] = node.type
        elif isinstance(node, s.ForMap):
            decl = storages[node.map].decl
            value = Int(8, decl.value.value.signed) if isinstance(decl.value, Agg) else decl.value
            out[node.name] = Tuple((decl.key or U64, value))
    return out


def turns(loop: s.ForRange) -> int | None:
    """How often a loop over constants turns."""
    first, last = loop.start, loop.end
    if not (isinstance(first, x.Const) and isinstance(last, x.Const)):
        return None
    if not (isinstance(first.value, int) and isinstance(last.value, int)):
        return None
    return max(0, wrap(last.value, last.type) - wrap(first.value, first.type))


def weight(body: Sequence[Node]) -> int:
    """About how many operations the verifier sees in one turn: nodes, and the loops that some of them are made of."""
    return sum(_weight(n) for n in walk(body))


def _weight(n: Node) -> int:
    if isinstance(n, s.While | s.ForMap | s.ForRange):
        return BOUNDED_NODES  # never a walk through a loop within a walk
    if isinstance(n, x.Call) and n.name in _TEXT_CALLS:
        return _A_TURN * max(_size(a.type) for a in n.args)
    if isinstance(n, x.Binary) and isinstance(n.a.type, String | Buffer):
        known = n.op in {"eq", "ne"} and (isinstance(n.a, x.Const) or isinstance(n.b, x.Const))
        return 8 if known else _A_TURN * _size(n.a.type)
    return 1


def _size(t: Type) -> int:
    return t.size if isinstance(t, String | Buffer) else 1


class _Scanner:
    def __init__(self, features: Features, out: Scan, most: int, uncounted: frozenset[int], callback: bool) -> None:
        self.callback = callback
        self.features = features
        self.most = most
        self.uncounted = uncounted
        self.depth = 0  # loops around
        self.out = out
        self.uses: dict[str, list[Use]] = {}
        self.callbacks: set[int] = set()  # statement lists that are functions of their own
        self.lists = 0

    # --- walking ------------------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[s.Stmt], path: tuple[int, ...]) -> None:
        known: dict[str, int] = {}
        for statement in statements:
            if isinstance(statement, s.While):
                self.count(statement, while_turns(statement, known))
            known = known_after(statement, known)
            self.node(statement, path)

    def count(self, loop: s.While | s.ForRange, turns: int | None) -> None:
        """A loop that only calculates, within no other, is counted if its turns are not too many."""
        few = turns and turns <= self.most and turns * weight([*children(loop)]) <= PLAIN_NODES
        if turns and few and not self.depth and id(loop) not in self.uncounted and plain(loop.body):
            self.out.counted[id(loop)] = turns

    def inner(self, path: tuple[int, ...], *, callback: bool = False) -> tuple[int, ...]:
        self.lists += 1
        if callback:
            self.callbacks.add(self.lists)
        return (*path, self.lists)

    def use(self, name: str, path: tuple[int, ...], direct: bool) -> None:
        self.uses.setdefault(name, []).append(Use(path, direct))

    def node(self, n: Node, path: tuple[int, ...]) -> None:
        match n:
            case x.Local(name=name):
                self.use(name, path, False)
            case x.Address(name=name):
                self.use(name, path, False)
                self.out.addressed.add(name)
            case x.Context(name="comm"):
                self.out.comms += 1
            case s.Assign(name=name, value=value):
                self.node(value, path)
                self.use(name, path, True)
            case s.If(cond=cond, then=then, otherwise=otherwise):
                self.node(cond, path)
                self.body(then, self.inner(path))
                self.body(otherwise, self.inner(path))
            case s.While() | s.ForRange() | s.ForMap():
                self.loop(n, path)
            case x.Logic(a=a, b=b):
                self.node(a, path)
                self.node(b, self.inner(path))
            case x.Select(cond=cond, a=a, b=b):
                self.node(cond, path)
                self.node(a, self.inner(path))
                self.node(b, self.inner(path))
            case _:
                for child in children(n):
                    self.node(child, path)

    def loop(self, loop: s.While | s.ForRange | s.ForMap, path: tuple[int, ...]) -> None:
        way = self.way(loop)
        self.out.ways[id(loop)] = way
        self.out.assigned[id(loop)] = frozenset(n.name for n in walk([loop]) if isinstance(n, s.Assign | s.ForRange))
        within = self.inner(path, callback=way == "callback")
        if isinstance(loop, s.ForRange):
            self.node(loop.start, path)
            self.node(loop.end, path)
        self.depth += 1
        if isinstance(loop, s.While):
            self.node(loop.cond, within)
        else:
            self.use(loop.name, within, True)
        self.body(loop.body, within)
        self.depth -= 1

    def way(self, loop: s.While | s.ForRange | s.ForMap) -> Way:
        if isinstance(loop, s.ForMap):
            return "callback"
        count = turns(loop) if isinstance(loop, s.ForRange) else None
        if isinstance(loop, s.ForRange):
            self.count(loop, count)
        if id(loop) in self.out.counted:
            return "bounded"
        if count is not None and count * weight(loop.body) <= BOUNDED_NODES:
            return "bounded"
        may_goto = self.features.has("isa:may_goto")
        simple = weight([loop]) - BOUNDED_NODES <= SIMPLE_NODES
        if may_goto and simple and not self.callback and self.features.has(LIVENESS):
            return "goto"
        if not self.features.lacks("helper:loop"):
            return "callback"
        if may_goto:
            return "goto"
        self.out.fallback = True
        return "bounded"

    # --- deciding -----------------------------------------------------------------------------------------------------

    def classify(self, name: str, uses: list[Use]) -> None:
        common = _common([u.path for u in uses])
        definite = uses[0].direct and uses[0].path == common
        if not definite:
            self.out.unset.add(name)
        self.out.names.add(name)
        inside = {at for u in uses for at in u.path if at in self.callbacks}
        if inside:
            self.out.in_callback.add(name)
        if any(at not in common for at in inside) or (inside and not definite):  # some use is outside of that function
            self.out.captured.add(name)


def _common(paths: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The innermost statement list that holds all of the places."""
    return tuple(_common_prefix(paths))


def _common_prefix(paths: Sequence[tuple[int, ...]]) -> Iterator[int]:
    for level in zip(*paths, strict=False):
        if len(set(level)) != 1:
            return
        yield level[0]
