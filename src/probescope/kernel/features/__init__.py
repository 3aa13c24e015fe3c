"""What this kernel can do, found by trying: yes, no, or unknown, each with its reason.

In: a feature's name, ``kind:what``. Out: ``Answer``. The kernel's version is never asked; attempts that need no real
target are shaped so that the kernel's refusal tells a missing feature from a missing target. Unknown (no permission, no
memory, a passing trouble) is never remembered and never means no.

    helper:loop             in any kind of tracing program        helper:get_attach_cookie@raw_tracepoint   in that kind
    kfunc:bpf_rcu_read_lock   the same for kernel functions       map:ringbuf    prog:syscall    isa:v4    attach:fentry
    perf:breakpoint         ftrace:function         run:raw_tracepoint (test runs)       kernel:btf

``table.FEATURES`` says of each what it is for and how to get it. Asking costs microseconds to a few milliseconds;
nothing is left behind in the kernel. The first question that needs type ids reads the kernel's BTF (some 30 ms): a room
above that has an index of it can lend it with ``set_btf_finder``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from probescope.errors import InternalError, KernelError
from probescope.kernel.features.answer import Answer, No, Unknown, judge
from probescope.kernel.host import host
from probescope.model.features import Features

if TYPE_CHECKING:
    from probescope.kernel.features.table import Feature

State = Literal["yes", "no", "unknown"]

_TRIERS = {
    "map": "try_maps",
    "prog": "try_progs",
    "run": "try_progs",
    "helper": "try_helpers",
    "kfunc": "try_kfuncs",
    "isa": "try_isa",
    "attach": "try_attach",
    "perf": "try_perf",
    "ftrace": "try_ftrace",
    "kernel": "try_kernel",
}


def probe(name: str) -> Answer:
    """Whether this kernel has it. Raises InternalError for a kind that does not exist; an unknown name of a known kind
    is answered no."""
    known: dict[str, Answer] = host().cache.setdefault("features", {})
    found = known.get(name)
    if found is None:
        found = _try(name)
        if found.yes is not None:
            known[name] = found
    return found


def _try(name: str) -> Answer:
    kind = name.partition(":")[0]
    if kind not in _TRIERS:
        raise InternalError(f"no such kind of feature: {name}")
    module = importlib.import_module(f"probescope.kernel.features.{_TRIERS[kind]}")
    attempt: Callable[[str], None] = module.attempt
    try:
        attempt(name)
    except No as e:
        return Answer(name, False, e.reason, e.errno)
    except Unknown as e:
        return Answer(name, None, e.reason, e.errno)
    except (OSError, KernelError) as e:
        return judge(name, e)
    return Answer(name, True)


def state(name: str) -> State:
    yes = probe(name).yes
    return "unknown" if yes is None else "yes" if yes else "no"


def have(name: str) -> bool | None:
    """True, False, or None for unknown."""
    return probe(name).yes


def features(names: Iterable[str]) -> Features:
    """The answers as the value that compilers and planners take."""
    yes, no = set[str](), set[str]()
    for name in names:
        answer = probe(name)
        if answer.yes is not None:
            (yes if answer.yes else no).add(name)
    return Features(frozenset(yes), frozenset(no))


class HostFeatures:
    """This kernel as something that can be asked when it matters: each question is tried when first asked."""

    def state(self, name: str) -> State:
        return state(name)


def all_features() -> list[Answer]:
    """An answer for every row of the table, and for every helper. A few hundred tiny programs: under a second. Those
    few whose very attempt the kernel reports in its log are left unknown; ask ``probe`` for them by name."""
    from probescope.kernel.features.try_helpers import LOUD

    quiet = "asking makes the kernel write a warning into its log; ask for it by name"
    return [Answer(f.name, None, quiet) if f.name in LOUD else probe(f.name) for f in every()]


def every() -> list[Feature]:
    """The table, with a row for each helper that it does not mention."""
    from probescope.kernel.features.table import FEATURES, Feature
    from probescope.kernel.uapi.helpers import IDS

    listed = {f.name for f in FEATURES}
    return [*FEATURES, *(Feature(f"helper:{h}", "a BPF helper") for h in IDS if f"helper:{h}" not in listed)]


def describe(name: str) -> Feature:
    """Its row of the table, or a bare one."""
    from probescope.kernel.features.table import FEATURES, Feature

    return next((f for f in FEATURES if f.name == name), Feature(name, ""))


def set_btf_finder(finder: Callable[[str, int], int]) -> None:
    """Lends an index: ``finder(name, kind)`` gives the type id in the kernel's own BTF, or 0."""
    host().cache["btf_finder"] = finder


__all__ = [
    "Answer",
    "HostFeatures",
    "State",
    "all_features",
    "describe",
    "every",
    "features",
    "have",
    "probe",
    "set_btf_finder",
    "state",
]
