"""System calls: what was entered and what it returned, thread by thread.

raw_syscalls:sys_enter   id, args[6]          sys_exit   id, ret
syscalls:sys_enter_read  fd, buf, count       sys_exit_read   ret
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.model import syscalls
from probescope.store.build.pairing import Pairing, Pairs
from probescope.store.build.sink import lasted, none
from probescope.store.columns import NO_NUMBER
from probescope.store.lasting import SYSCALL

if TYPE_CHECKING:
    from probescope.model.recording import RawField
    from probescope.store.build.kinds import KindBatch
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]

ENTER, EXIT = "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"
ENTERS, EXITS = "syscalls:sys_enter_", "syscalls:sys_exit_"
ARGS = 6
MAX_ERRNO = 4095
_NUMBERS = {"nr", "__syscall_nr"}


class Calls:
    """``arch``: whose numbers these are."""

    def __init__(self, sink: Sink, arch: str) -> None:
        self._sink, self._arch = sink, arch
        self._pairing = Pairing()
        self._rows: list[dict[str, Array]] = []
        self._ids = 0
        self._raw = False
        self._names: dict[int, str] = {}
        known = arch in {"x86_64", "aarch64"}
        self._known = syscalls.names(arch) if known else {}
        sink.make(SYSCALL)

    def concerns(self, name: str) -> bool:
        return name in (ENTER, EXIT) or name.startswith((ENTERS, EXITS))

    def add(self, k: KindBatch, utid: Array) -> None:
        """Kinds of one batch may come in any order."""
        name = k.event.name
        raw = name in (ENTER, EXIT)
        if raw and not self._raw:
            self._raw, self._rows = True, []  # both were recorded: each call is told of twice
        if self._raw and not raw:
            return
        enters = name == ENTER or name.startswith(ENTERS)
        count = len(k)
        nr = k.number("id") if raw else self._learn(k, name.removeprefix(ENTERS).removeprefix(EXITS))
        args = self._args(k) if enters else [none(count, NO_NUMBER)] * ARGS
        self._rows.append(
            {
                "at": k.which,
                "utid": utid.astype(np.int64),
                "enters": np.full(count, enters),
                "nr": nr,
                "ts": k.time,
                "cpu": k.cpu,
                "ret": none(count, NO_NUMBER) if enters else k.number("ret", NO_NUMBER),
                **{f"arg{i}": a for i, a in enumerate(args)},
            }
        )

    def _learn(self, k: KindBatch, name: str) -> Array:
        """Their numbers: the name's, since in the text of a trace the field for it is 0; else those of the field."""
        number = syscalls.number_of_event(name, self._arch) if self._known else -1
        if number >= 0:
            return np.full(len(k), number, np.int64)
        nr = k.number("__syscall_nr") if k.has("__syscall_nr") else k.number("nr")
        for n in np.unique(nr).tolist():
            if n not in self._known:
                self._names.setdefault(n, name)
        return nr

    def _args(self, k: KindBatch) -> list[Array]:
        if k.event.name == ENTER:
            return [k.item("args", i) for i in range(ARGS)]
        own = [f for f in k.event.fields if _argument(f)][:ARGS]
        found = [k.number(f.name) for f in own]
        return found + [none(len(k), NO_NUMBER)] * (ARGS - len(found))

    def batch_done(self) -> None:
        if not self._rows:
            return
        held, self._rows = self._rows, []
        rows = {n: np.concatenate([h[n] for h in held]) for n in held[0]} if len(held) > 1 else held[0]
        if len(held) > 1:
            order = rows["at"].argsort(kind="stable")
            rows = {n: c[order] for n, c in rows.items()}
        utid, enters, nr = rows.pop("utid"), rows.pop("enters"), rows["nr"]
        del rows["at"]
        rows["utid"] = utid
        self._emit(self._pairing.feed(utid, enters, nr, rows))

    def finish(self) -> None:
        self._emit(self._pairing.rest())

    def _emit(self, pairs: Pairs) -> None:
        count = len(pairs)
        if not count:
            return
        ts, end = pairs.of_begin("ts"), pairs.of_end("ts")
        nr, ret = pairs.of_either("nr"), pairs.of_end("ret", NO_NUMBER)
        self._sink.add(
            SYSCALL,
            {
                "id": np.arange(self._ids, self._ids + count),
                "ts": ts,
                "dur": lasted(ts, end),
                "end_ts": end,
                "cpu": pairs.of_either("cpu"),
                "utid": pairs.of_either("utid"),
                "nr": nr,
                "name": self._named(nr),
                **{f"arg{i}": pairs.of_begin(f"arg{i}", NO_NUMBER) for i in range(ARGS)},
                "ret": ret,
                "error": _errors(ret),
            },
        )
        self._ids += count

    def _named(self, nr: Array) -> Array:
        different, where = np.unique(nr, return_inverse=True)
        names: Array = np.empty(len(different), object)
        names[:] = [self._known.get(n) or self._names.get(n) or str(n) for n in different.tolist()]
        return names[where]


def _argument(f: RawField) -> bool:
    return not (f.name.startswith("common_") or f.name in _NUMBERS or f.dynamic or f.count)


def _errors(ret: Array) -> Array:
    failed = np.flatnonzero((ret < 0) & (ret >= -MAX_ERRNO))
    out: Array = np.full(len(ret), None, object)
    different, where = np.unique(ret[failed], return_inverse=True)
    names: Array = np.empty(len(different), object)
    names[:] = [_KERNELS.get(-n) or errno.errorcode.get(-n, str(-n)) for n in different.tolist()]
    out[failed] = names[where]
    return out


_KERNELS = {512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 516: "ERESTART_RESTARTBLOCK"} | {
    11: "EAGAIN",
    35: "EDEADLK",
    95: "EOPNOTSUPP",
}
"""include/linux/errno.h: what system calls return while they are to be done again; and names that have twins."""
