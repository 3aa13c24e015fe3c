"""Functions of BPF programs as places for fentry and fexit: ``fentry:bpf:NAME``, ``fexit:bpf:ID:NAME``.

Only programs with BTF have names to attach to. Their arguments are numbers here (``arg0`` is what the program gets);
what they point to belongs to another type system than the kernel's.
"""

from __future__ import annotations

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_funcs import BtfFunctions, Function
from probescope.debuginfo.btf_types import BtfTypes
from probescope.errors import BtfError, NoSuchProbe, ProbeError
from probescope.frozen import dataclass
from probescope.kernel import bpf_functions
from probescope.model.probe import ProbeSpec
from probescope.model.site import FentryAttach, Field, RetSlot, Site
from probescope.model.types import Void, is_scalar
from probescope.sources.context import ResolveContext, check_count
from probescope.sources.func_fields import RETVAL
from probescope.sources.globs import is_glob, matches

TARGET = "bpf"


@dataclass(frozen=True, slots=True)
class Place:
    """A function of a loaded program."""

    program: int
    function: Function

    @property
    def name(self) -> str:
        return f"{TARGET}:{self.program}:{self.function.name}"


def places(name: str, program: str = "") -> list[Place]:
    """Those whose names match the glob ``name``, by program. ``program``: an id; empty or ``*``: all. Raises
    KernelError."""
    only = int(program) if program.isdigit() else 0
    known: dict[int, BtfFunctions | None] = {}
    out: list[Place] = []
    for loaded in bpf_functions.loaded(only):
        if loaded.btf not in known:
            known[loaded.btf] = _parsed(loaded.btf)
        found = known[loaded.btf]
        functions = (_function(found, t) for t in loaded.types) if found else ()
        out += [Place(loaded.program, f) for f in functions if f is not None and matches(name, f.name)]
    return out


def _parsed(btf: int) -> BtfFunctions | None:
    try:
        return BtfFunctions(BtfTypes(Btf.parse(bpf_functions.btf_bytes(btf), name=f"BTF object {btf}")))
    except BtfError:
        return None


def _function(btf: BtfFunctions, type_id: int) -> Function | None:
    try:
        return btf.signature(type_id)
    except BtfError:
        return None


def list_names(pattern: str) -> list[str]:
    """``bpf:ID:FUNCTION``; ``pattern`` is what follows ``bpf:``."""
    program, _, name = pattern.rpartition(":")
    return [p.name for p in places(name, program)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    """One site for each program that has such a function: several may. Raises ProbeError."""
    found = places(spec.name, spec.namespace)
    if not found:
        hint = f"probescope list '{spec.source}:bpf:*' shows what there is: programs with BTF"
        kind = ProbeError if is_glob(spec.name) else NoSuchProbe
        raise kind(f"no loaded BPF program has a function {spec.name}", hints=[hint])
    check_count(spec, len(found), ctx)
    return [_site(spec.source, p) for p in found]


def _site(source: str, place: Place) -> Site:
    f, ret = place.function, source == "fexit"
    attach = FentryAttach(f.name, f.btf_id, "", ret, place.program)
    result = None if isinstance(f.result, Void) or not is_scalar(f.result) else f.result
    # where the kernel does not believe the BTF, the program is one of five arguments: it does not say when
    field = Field(RETVAL, result, RetSlot(-1)) if ret and result else None
    return Site(f"{source}:{place.name}", source, attach, ret=field, func=f.name)
