"""Hardware breakpoints on memory: ``watchpoint:ADDRESS:LENGTH:MODE``, with mode any of r, w, x; ``asyncwatchpoint`` is
the same.

x86 debug registers take 1, 2, 4 or 8 aligned bytes; they know write, read-or-write and execute, but not read alone, and
execute only with the length of a long (arch/x86/kernel/hw_breakpoint.c, ``arch_build_bp_info``). AArch64 also has read
alone, and executes on 4 bytes (arch/arm64/kernel/hw_breakpoint.c). Bits of ``bp_type``:
include/uapi/linux/hw_breakpoint.h.
"""

from __future__ import annotations

from probescope.errors import ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import PerfAttach, Site
from probescope.sources.context import ResolveContext

SOURCES = ("watchpoint", "asyncwatchpoint")
PERF_TYPE_BREAKPOINT = 5
BITS = {"r": 1, "w": 2, "x": 4}
LENGTHS = (1, 2, 4, 8)
MODES = {"x86_64": ("w", "rw", "x"), "aarch64": ("r", "w", "rw", "x")}


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    return []


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [s.name for s in resolve(spec, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    address, length = spec.address or 0, spec.length
    if not 0 < address < 1 << 64:
        raise ProbeError("a watchpoint needs an address other than 0", hints=["write watchpoint:0xADDRESS:8:w"])
    if length not in LENGTHS:
        raise ProbeError(f"a watchpoint cannot be {length} bytes long", hints=["lengths are 1, 2, 4 and 8"])
    mode = _mode(spec.mode, ctx)
    if mode != "x" and address % length:
        hint = f"the nearest aligned address is {address - address % length:#x}"
        raise ProbeError(f"address {address:#x} is not a multiple of the watchpoint's length {length}", hints=[hint])
    length = _execute_length(length, ctx) if mode == "x" else length
    bits = sum(BITS[c] for c in mode)
    attach = PerfAttach(
        PERF_TYPE_BREAKPOINT, 0, 1, pid=ctx.pid, every_cpu=ctx.pid < 0, bp_addr=address, bp_len=length, bp_type=bits
    )
    return [Site(f"{spec.source}:{address:#x}:{spec.length}:{mode}", spec.source, attach, pid=ctx.pid)]


def _mode(mode: str, ctx: ResolveContext) -> str:
    supported = MODES[ctx.arch.name]
    hint = "modes are " + ", ".join(supported)
    if not mode or set(mode) - set(BITS) or len(set(mode)) != len(mode):
        raise ProbeError(f"'{mode}' is not a watchpoint mode: any of r, w and x, each once", hints=[hint])
    mode = "".join(sorted(mode))  # r < w < x
    if mode not in supported:
        if mode == "r":
            hint = "the processor can watch for reads only together with writes: use rw"
        raise ProbeError(f"watchpoint mode '{mode}' does not exist on {ctx.arch.name}", hints=[hint])
    return mode


def _execute_length(length: int, ctx: ResolveContext) -> int:
    """The kernel takes one length for execution: sizeof(long) on x86-64, an instruction on AArch64."""
    return 8 if ctx.arch.name == "x86_64" else 4


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    return []
