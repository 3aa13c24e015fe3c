"""What of a recording has no names, why, and what helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from probescope.collect.recorded.jitted import JIT_MAP
from probescope.collect.recorded.modules import KERNEL
from probescope.frozen import dataclass
from probescope.model.visible import visible

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Symbols

    Advice = Callable[[Iterable[str]], dict[str, str]]

MOST_ASKED = 16
"""Files that a package is looked for."""
_MADE = "node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, DOTNET_PerfMapEnabled=1, python -X perf write names"
_ELSEWHERE = "read the recording where it was made, or name its files by --symfs DIR"


@dataclass(frozen=True, slots=True)
class Missing:
    """``places``: different addresses without a name. ``why`` and ``help`` are for people; ``help`` may be empty."""

    module: str
    places: int
    why: str
    help: str


def missing(symbols: Symbols, advice: Advice) -> list[Missing]:
    """The most frequent first. A file with a whole symbol table is left out: what that does not name, nobody does.
    ``advice``: by path, what to type for debug symbols."""
    counted = sorted(((n, m) for m, n in symbols.missing.items() if m), key=lambda c: (-c[0], c[1]))
    files = [m for _, m in counted if m.startswith("/") and m not in symbols.files.wrong]
    stripped = [m for m in files if symbols.files.stripped(m)][:MOST_ASKED]
    known = advice(stripped)
    out: list[Missing] = []
    for places, module in counted:
        found = _told(symbols, module, stripped, known)
        if found is not None:
            out.append(Missing(module, places, *found))
    out += [Missing(path, 0, "belongs to another user", "--force reads it anyway") for path in symbols.jitted.refused]
    return out


def _told(symbols: Symbols, module: str, stripped: list[str], known: dict[str, str]) -> tuple[str, str] | None:
    if module in symbols.files.wrong:
        return symbols.files.wrong[module], _ELSEWHERE
    if module in stripped:
        return "is stripped", known.get(module, "install its debug symbols, or fetch them: --debuginfod=URL")
    if module.startswith((JIT_MAP, "/memfd:")):
        return "was made at run time", _MADE
    if module == KERNEL or module.startswith("["):
        return _kernel(symbols)
    return None


def _kernel(symbols: Symbols) -> tuple[str, str] | None:
    kernel = symbols.kernel
    if kernel.found:
        return None
    if kernel.ours:
        return "hides its addresses", "be root, or: sysctl kernel.kptr_restrict=0"
    return "is not the kernel that runs here", "--vmlinux FILE or --kallsyms FILE of the recorded one"


def lines(found: list[Missing], most: int = 8) -> list[str]:
    """A block of text, one line a module."""
    shown = [(visible(m.module), m) for m in found[:most]]
    width = min(max((len(name) for name, _ in shown), default=0), 60)
    out = []
    for name, m in shown:
        count = f"{m.places} places" if m.places != 1 else "1 place"
        helps = f": {visible(m.help)}" if m.help else ""
        out.append(f"  {name:<{width}}  {count if m.places else '':>12}  {m.why}{helps}")
    if len(found) > most:
        out.append(f"  and {len(found) - most} others")
    return out
