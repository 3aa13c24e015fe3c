"""Functions of the kernel as BTF tells them: signatures, BTF-typed tracepoints, iterators, kfuncs."""

from __future__ import annotations

from bisect import bisect_right

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_blob import DECL_TAG, FUNC, FUNC_PROTO, PTR, STRUCT, TYPEDEF
from probescope.debuginfo.btf_types import BtfTypes
from probescope.frozen import dataclass
from probescope.model.types import Type

_TRACEPOINT = "btf_trace_"
# Where the names of a tracepoint's parameters are found: the typedef btf_trace_X itself has only their types.
# __probestub_X is newest ("tracing: Probe stub functions", 6.4); __traceiter_X has been there since 5.10.
_NAMED_LIKE = ("__probestub_", "__traceiter_", "__bpf_trace_")
_ITER, _ITER_CONTEXT = "bpf_iter_", "bpf_iter__"
_KFUNC_TAG = "bpf_kfunc"


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Function:
    """``btf_id`` is what attaching needs: of the FUNC, or of the typedef ``btf_trace_X`` of a tracepoint. ``result`` is
    ``void`` for none. Variadic parameters are not among ``params``."""

    name: str
    btf_id: int
    params: tuple[Param, ...]
    result: Type
    variadic: bool = False


class BtfFunctions:
    """Questions about functions to one blob. Methods raise BtfError where it is malformed."""

    def __init__(self, types: BtfTypes) -> None:
        self.types = types
        self.btf: Btf = types.btf

    def names(self) -> list[str]:
        """Every function of this blob (not of its base), unsorted; static ones of one name may repeat."""
        return self.btf.names(FUNC)

    def find(self, name: str) -> Function | None:
        """By its exact name; the first one where several static functions share it."""
        type_id = self.btf.find(name, FUNC)
        return self._function(name, type_id, self.btf.raw(type_id).third) if type_id else None

    def signature(self, type_id: int) -> Function | None:
        """Of the FUNC with this id; ``None`` if it is none."""
        raw = self.btf.raw(type_id)
        return self._function(self.btf.name_of(type_id), type_id, raw.third) if raw.kind == FUNC else None

    def _function(self, name: str, type_id: int, proto: int, skip: int = 0) -> Function | None:
        raw = self.btf.raw(proto)
        if raw.kind != FUNC_PROTO:
            return None
        rows = self.btf.params(proto)
        variadic = bool(rows) and rows[-1] == ("", 0)
        rows = rows[skip : len(rows) - variadic]
        params = tuple(Param(n or f"arg{i}", self.types.type_of(t)) for i, (n, t) in enumerate(rows))
        return Function(name, type_id, params, self.types.type_of(raw.third), variadic)

    # --- tracepoints --------------------------------------------------------------------------------------------------

    def tracepoint_names(self) -> list[str]:
        """Of this blob, for rawtracepoint and tp_btf probes."""
        cut = len(_TRACEPOINT)
        return [n[cut:] for n in self.btf.names(TYPEDEF) if n.startswith(_TRACEPOINT)]

    def tracepoint(self, name: str) -> Function | None:
        """``typedef void (*btf_trace_X)(void *__data, TP_PROTO)``: the arguments after ``__data``."""
        typedef = self.btf.find(_TRACEPOINT + name, TYPEDEF)
        pointer = self.btf.raw(self.btf.raw(typedef).third) if typedef else None
        if pointer is None or pointer.kind != PTR:
            return None
        found = self._function(name, typedef, pointer.third, skip=1)
        named = next((n for p in _NAMED_LIKE if (n := self._arguments(p + name))), None)
        if found is None or named is None or len(named) != len(found.params):
            return found
        params = tuple(Param(n or p.name, p.type) for n, p in zip(named, found.params, strict=True))
        return Function(name, typedef, params, found.result)

    def _arguments(self, function: str) -> list[str]:
        """Names of the parameters of a stub, without its first one."""
        type_id = self.btf.find(function, FUNC)
        if not type_id:
            return []
        proto = self.btf.raw(type_id).third
        return [n for n, _ in self.btf.params(proto)[1:]] if self.btf.raw(proto).kind == FUNC_PROTO else []

    # --- iterators and kfuncs -----------------------------------------------------------------------------------------

    def iterators(self) -> list[str]:
        """Targets of ``iter:`` probes: those with a function ``bpf_iter_X`` to attach to and a context ``bpf_iter__X``.
        (``DEFINE_BPF_ITER_FUNC`` of include/linux/bpf.h.)"""
        cut = len(_ITER_CONTEXT)
        names = [n[cut:] for n in self.btf.names(STRUCT) if n.startswith(_ITER_CONTEXT)]
        return sorted(n for n in names if self.btf.find(_ITER + n, FUNC))

    def iterator(self, target: str) -> tuple[int, str] | None:
        """(btf id to attach to, full name of the struct that is its context)."""
        type_id = self.btf.find(_ITER + target, FUNC)
        known = type_id and self.btf.find(_ITER_CONTEXT + target, STRUCT)
        return (type_id, f"struct {_ITER_CONTEXT}{target}") if known else None

    def kfuncs(self) -> list[str]:
        """Functions that BPF programs may call, as far as they are tagged (pahole 1.26 and Linux 6.9 on)."""
        return [self.btf.name_of(target) for target, _, tag in self.decl_tags() if tag == _KFUNC_TAG]

    def decl_tags(self) -> list[tuple[int, int, str]]:
        """(id of the type, number of the member or parameter or -1, tag) of every declaration tag."""
        out = []
        for type_id in self.btf.ids(DECL_TAG):
            raw = self.btf.raw(type_id)
            index = self.btf.words[raw.at]
            out.append((raw.third, -1 if index == 0xFFFFFFFF else index, self.btf.string(raw.name_off)))
        return out


class PrefixNames:
    """Sorted names, so that a glob with a literal start looks only at those that start so."""

    def __init__(self, names: list[str]) -> None:
        self.names = sorted(set(names))

    def match(self, glob: str) -> list[str]:
        from bisect import bisect_left

        from probescope.debuginfo.elf_symbols import glob_matcher

        cut = min((i for i, c in enumerate(glob) if c in "*?["), default=len(glob))
        prefix = glob[:cut]
        low = bisect_left(self.names, prefix)
        high = bisect_right(self.names, prefix + "\U0010ffff") if prefix else len(self.names)
        accepts = glob_matcher(glob)
        return [n for n in self.names[low:high] if accepts(n)]
