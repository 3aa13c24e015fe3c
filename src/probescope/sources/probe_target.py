"""What probe definitions are looked up in: a program, the kernel, a module of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from probescope.errors import ProbeError
from probescope.frozen import dataclass, replace
from probescope.model.probe_def import ProbeDef
from probescope.model.probe_found import FoundProbe
from probescope.sources import targets
from probescope.sources.context import ResolveContext

if TYPE_CHECKING:
    from probescope.model.arch import Arch
    from probescope.sources.probe_debug import DebugPlaces

LONGEST_SOURCE = 1 << 24


@dataclass(frozen=True, slots=True)
class Wanted:
    """``pid``: whose file system ``binary`` is a path of, 0: ours. ``source``: a folder that paths of source files are
    looked for in first. ``live``: what is found is to be probed on this machine, now. ``fetch``: asks servers for the
    debug information of a build-id, and gives the path of the file; empty if there is none."""

    binary: str = ""
    module: str = ""
    vmlinux: str = ""
    source: str = ""
    pid: int = 0
    inlined: bool = True
    live: bool = False
    debug_dirs: Sequence[str] = ()
    fetch: Callable[[str], str] | None = None


class DefinitionTarget(Protocol):
    @property
    def label(self) -> str: ...

    @property
    def debug(self) -> DebugPlaces | None:
        """Its debug information, if it has any."""
        ...

    @property
    def reason(self) -> str:
        """Why there is none."""
        ...

    def resolve(self, d: ProbeDef) -> list[FoundProbe]:
        """Raises ``ProbeError``, ``ScriptError``."""
        ...

    def function_names(self) -> list[str]:
        """All that can be probed, sorted."""
        ...


def open_target(wanted: Wanted) -> DefinitionTarget:
    """Raises ``ProbeError``, ``ElfError``."""
    ctx = ResolveContext(arch=this_arch(), debug_dirs=tuple(wanted.debug_dirs), max_probes=1 << 20)
    texts = Sources(wanted.source)
    if wanted.binary:
        from probescope.sources.probe_user import ProgramTarget

        found = targets.paths("uprobe", wanted.binary, replace(ctx, pid=wanted.pid) if wanted.pid else ctx)
        if len(found) != 1:
            raise ProbeError(f"{wanted.binary} stands for {len(found)} files", hints=["name one of them"])
        if not wanted.live:
            ctx.arch = arch_of(found[0]) or ctx.arch
        return ProgramTarget(_plain(found[0]), ctx, inlined=wanted.inlined, texts=texts, fetch=wanted.fetch)
    from probescope.sources.probe_kernel import KernelTarget

    return KernelTarget(wanted, ctx, texts)


def _plain(path: str) -> str:
    """Without links, unless one of /proc leads to a file that has no name any more, or another one here."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samefile(real, path) else path
    except OSError:
        return path


def arch_of(path: str) -> Arch | None:
    """That of a file, which may be looked at on any machine; ``None`` where it is none that is known."""
    from probescope.debuginfo.elf import ElfFile
    from probescope.errors import ElfError
    from probescope.model.arch import by_name

    try:
        elf = ElfFile.open(path)
    except ElfError:
        return None
    try:
        return by_name(elf.machine)
    finally:
        elf.close()


def this_arch() -> Arch:
    """That of this machine."""
    from probescope.kernel.host import host
    from probescope.model.arch import X86_64, by_name

    return by_name(host().machine) or X86_64


class Sources:
    """Lines of source files. ``folder``: the tree that the code was built from, if it is not where it was then."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._texts: dict[str, list[str]] = {}

    def __call__(self, path: str) -> list[str]:
        """Raises ``ProbeError``."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> list[str]:
        for candidate in self._places(path):
            try:
                with open(candidate, encoding="utf-8", errors="replace") as f:
                    return f.read(LONGEST_SOURCE).splitlines()
            except OSError:
                continue
        hints = ["-s DIR says where the source code is"]
        raise ProbeError(f"the source file {path} is not there", hints=hints)

    def _places(self, path: str) -> list[str]:
        if not self._folder:
            return [path]
        parts = path.strip("/").split("/")
        return [os.path.join(self._folder, *parts[i:]) for i in range(len(parts))] + [path]
