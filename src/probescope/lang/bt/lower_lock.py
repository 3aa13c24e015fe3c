"""Types that a condition known while compiling has asked for, and that its branches may not change.

    if comptime (typeinfo(@a).full_type == "uint32") { @a = (uint64)2; }

Were @a to become a uint64 here, the condition would no longer hold: the script contradicts itself."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.node import walk
from probescope.lang.bt.scope import Var


@contextmanager
def locked(u: Unit, condition: ast.Expr) -> Generator[None]:
    """While a branch is lowered that ``condition`` has chosen."""
    held = [h for h in _asked(u, condition) if not h.locked]
    for h in held:
        h.locked = True
    yield
    for h in held:
        h.locked = False


def _asked(u: Unit, condition: ast.Expr) -> Iterator[Var | MapInfo]:
    """Variables and maps whose types the condition depends on."""
    for node in walk(condition):
        if not isinstance(node, ast.Typeinfo | ast.Sizeof | ast.Offsetof):
            continue
        for n in walk(node):
            if isinstance(n, ast.Map):
                yield u.program.maps.get(n.name)
            elif isinstance(n, ast.Var):
                var = u.scopes.find(n.name)
                if var is not None:
                    yield var
