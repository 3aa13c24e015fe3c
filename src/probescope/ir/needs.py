"""What a clause asks of the outside world. A collector *offers* what it can deliver; choosing one is comparing the two.

A need is a short name with a detail:

    context:comm   field:filename   arg:0   ret   reg:ip   read:user   stack:kstack   effect:signal   call:path
    map:set:NAME
"""

from __future__ import annotations

from probescope.frozen import dataclass
from probescope.ir.expr import (
    Address,
    Arg,
    Call,
    Context,
    Field,
    Load,
    MapAdd,
    MapDelete,
    MapGet,
    MapHas,
    MapLen,
    MapPart,
    ReadBuf,
    ReadStr,
    Reg,
    Ret,
    Stack,
)
from probescope.ir.intrinsics import INTRINSICS
from probescope.ir.program import Clause
from probescope.ir.stmt import Effect, Emit, ForMap, MapSet, MapUpdate
from probescope.ir.walk import Node, clause_nodes


@dataclass(frozen=True, slots=True)
class Needs:
    """``maps_read``: names read; ``maps_written``: set or deleted as a whole; ``maps_updated``: read, changed and
    written back (aggregations, ``++``), which must not race with another writer."""

    context: frozenset[str]
    fields: frozenset[str]
    args: frozenset[int]
    ret: bool
    regs: frozenset[str]
    reads: frozenset[str]
    stacks: frozenset[str]
    effects: frozenset[str]
    calls: frozenset[str]
    maps_read: frozenset[str]
    maps_written: frozenset[str]
    maps_updated: frozenset[str]
    actions: frozenset[int]

    @property
    def site(self) -> bool:
        """Whether anything is asked that depends on where the probe is."""
        return bool(self.fields or self.args or self.ret or self.regs)

    @property
    def names(self) -> tuple[str, ...]:
        """All needs as texts, sorted."""
        out = [f"context:{c}" for c in self.context] + [f"field:{f}" for f in self.fields]
        out += [f"arg:{a}" for a in self.args] + ["ret"] * self.ret + [f"reg:{r}" for r in self.regs]
        out += [f"read:{r}" for r in self.reads] + [f"stack:{s}" for s in self.stacks]
        out += [f"effect:{e}" for e in self.effects] + [f"call:{c}" for c in self.calls]
        return tuple(sorted(out))


NO_NEEDS = Needs(
    context=frozenset(),
    fields=frozenset(),
    args=frozenset(),
    ret=False,
    regs=frozenset(),
    reads=frozenset(),
    stacks=frozenset(),
    effects=frozenset(),
    calls=frozenset(),
    maps_read=frozenset(),
    maps_written=frozenset(),
    maps_updated=frozenset(),
    actions=frozenset(),
)


def needs(clause: Clause) -> Needs:
    """One pass over a clause."""
    found: dict[str, set[object]] = {}
    for node in clause_nodes(clause):
        for kind, value in _of(node):
            found.setdefault(kind, set()).add(value)

    def names(kind: str) -> frozenset[str]:
        return frozenset(str(v) for v in found.get(kind, ()))

    def numbers(kind: str) -> frozenset[int]:
        return frozenset(v for v in found.get(kind, ()) if isinstance(v, int))

    return Needs(
        context=names("context"),
        fields=names("field"),
        args=numbers("arg"),
        ret=bool(found.get("ret")),
        regs=names("reg"),
        reads=names("read"),
        stacks=names("stack"),
        effects=names("effect"),
        calls=names("call"),
        maps_read=names("map_read"),
        maps_written=names("map_written"),
        maps_updated=names("map_updated"),
        actions=numbers("action"),
    )


def _of(node: Node) -> tuple[tuple[str, object], ...]:
    match node:
        case Context(name=name, arg="init"):  # of a process that sees only its own namespace: the kernel knows it
            return (("context", f"{name}:init"),)
        case Context(name=name):
            return (("context", name),)
        case Field(name=name):
            return (("field", name),)
        case Arg(index=i):
            return (("arg", i),)
        case Ret():
            return (("ret", True),)
        case Reg(name=name):
            return (("reg", name),)
        case Load(space=s) | ReadStr(space=s) | ReadBuf(space=s):
            return (("read", s),)
        case Address():  # only the kernel's programs have memory that has addresses
            return (("read", "kernel"),)
        case Stack(type=t):
            return (("stack", str(t)),)
        case Effect(kind=kind):
            return (("effect", kind),)
        case Call(name=name):
            return () if INTRINSICS[name].pure else (("call", name),)
        case Emit(action=a):
            return (("action", a),)
        case _:
            return _of_map(node)


def _of_map(node: Node) -> tuple[tuple[str, object], ...]:
    match node:
        case MapGet(map=m) | MapPart(map=m) | MapHas(map=m) | MapLen(map=m) | ForMap(map=m):
            return (("map_read", m),)
        case MapSet(map=m) | MapDelete(map=m):
            return (("map_written", m),)
        case MapUpdate(map=m) | MapAdd(map=m):
            return (("map_updated", m),)
        case _:
            return ()
