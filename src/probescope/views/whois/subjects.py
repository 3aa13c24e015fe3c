"""The files that a question is about: named ones with their libraries, those of a process, the kernel's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.errors import ElfError, UsageError
from probescope.views.whois.images import Program

if TYPE_CHECKING:
    from probescope.debuginfo.elf import ElfFile
    from probescope.views.whois.images import Image
    from probescope.views.whois.kernel import Kernel, KernelNames

_MOST_LIBRARIES = 64


def program(name: str) -> Program:
    """A path, or a bare name as shells and the loader find it. Raises UsageError where there is none such."""
    import os

    from probescope.debuginfo.libraries import find_binary

    if "/" in name or os.path.exists(name):
        return Program(name if "/" in name else f"./{name}")  # as probes write it
    found = find_binary(name)
    if not found:
        raise UsageError(f"there is no program or library '{name}'", hints=["-x takes a path, too"])
    return Program(found[0])


def libraries(of: Program) -> Iterator[Program]:
    """What a program is linked with, of those that are here."""
    from probescope.debuginfo.libraries import find_library

    for name in of.binary.elf.needed()[:_MOST_LIBRARIES]:
        for path in find_library(name, of.binary.elf.machine)[:1]:
            try:
                yield Program(path)
            except ElfError:
                continue


def of_process(pid: int) -> list[Program]:
    """Every file that a process has code of. Raises UsageError where it is gone or not ours to see."""
    from probescope.kernel import procfs
    from probescope.sources import targets

    out: dict[str, Program] = {}
    try:
        files = list(targets.mapped(pid))
    except OSError as e:
        raise UsageError(f"process {pid} cannot be looked at: {e.strerror}", hints=["pgrep -a NAME finds it"]) from e
    if not files and (path := procfs.exe(pid)):  # it is just being started: nothing is mapped yet
        files = [(path, f"/proc/{pid}/exe")]
    for path, here in files:
        if path not in out:
            try:
                out[path] = Program(here)
            except ElfError:
                continue
    if not out and procfs.ended(pid):
        raise UsageError(f"there is no process {pid}", hints=["it may have ended: pgrep -a NAME finds those that run"])
    if not out:
        raise UsageError(f"process {pid} runs no file that can be read", hints=["a kernel thread? whois -k"])
    return list(out.values())


def mapped(pid: int, address: int) -> tuple[Program, int]:
    """The file that an address of a process lies in, and the file's own address. Raises UsageError."""
    from probescope.kernel import procfs
    from probescope.sources import targets

    try:
        maps = procfs.maps(pid)
    except OSError as e:
        raise UsageError(f"process {pid} cannot be looked at: {e.strerror}", hints=["pgrep -a NAME finds it"]) from e
    m = next((m for m in maps if m.start <= address < m.end and m.path.startswith("/")), None)
    if m is None:
        raise UsageError(f"process {pid} has no file mapped at {address:#x}", hints=[f"cat /proc/{pid}/maps"])
    found = Program(targets.file_of(pid, m))
    virtual = found.file.virtual(address - m.start + m.offset)
    return found, virtual if virtual is not None else 0


def names_only() -> KernelNames:
    """The running kernel's names. Raises UsageError where they are hidden."""
    from probescope.collect.source_frames import kernel_lines
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.kernel import machine
    from probescope.views.whois.kernel import KernelNames

    names = Kallsyms(machine.kallsyms())
    if names.restricted:
        raise UsageError("/proc/kallsyms hides addresses from this user", hints=["run as root"])
    return KernelNames(names, kernel_lines(names.address).frames)


def kernel(named: str = "") -> Kernel:
    """The running kernel, or the file of one. Raises UsageError where its code is not to be had."""
    from probescope.collect.source_frames import kernel_lines
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.kernel import machine
    from probescope.views.whois.kernel import Kernel

    elf, ours = _kernel_file(named)
    names = Kallsyms(machine.kallsyms()) if ours else None
    return Kernel(elf, names, kernel_lines(names.address).frames) if names is not None else Kernel(elf, None)


def _kernel_file(named: str) -> tuple[ElfFile, bool]:
    """With whether the running kernel's names are right for it."""
    from probescope.debuginfo.vmlinux import places
    from probescope.kernel.host import host
    from probescope.views.whois.kernel import IMAGES

    release = host().release
    if named:
        elf = _kernel_elf(named)
        return elf, elf.build_id() == _running_id()
    last: ElfError | None = None
    for path in [p.format(release) for p in IMAGES] + [p for p in places(release, "") if not p.endswith(".debug")]:
        try:
            elf = _kernel_elf(path)
        except ElfError as e:
            last = e if "No such file" not in str(e) else last
            continue
        if elf.build_id() in ("", _running_id()):
            return elf, True
    why = f": {last}" if last is not None else ""
    hints = [f"it is looked for as {IMAGES[0].format(release)}; --vmlinux FILE names it"]
    raise UsageError(f"the running kernel's code was not found{why}", hints=hints)


def _kernel_elf(path: str) -> ElfFile:
    """A vmlinux is read where it lies: with debug information it has hundreds of megabytes. Raises ElfError."""
    from probescope.debuginfo.elf import ElfFile
    from probescope.debuginfo.vmlinuz import unpacked

    try:
        return ElfFile.open(path)
    except ElfError:
        return ElfFile(unpacked(path))


def _running_id() -> str:
    from probescope.debuginfo.elf_notes import build_id
    from probescope.kernel.host import host

    try:
        return build_id(host().read_bytes("/sys/kernel/notes"))
    except OSError:
        return ""


def modules(names: Sequence[str] = ()) -> Iterator[Image]:
    """The loaded modules, or these. Raises UsageError where a named one has no file here."""
    from probescope.kernel.kernel_maps import loaded_modules
    from probescope.views.whois.kernel import Module, module_file

    files = loaded_modules()
    for name in names:
        if name not in files:
            raise UsageError(f"module {name} is not loaded, or its file is not here", hints=["lsmod lists modules"])
    for name, path in files.items():
        if not names or name in names:
            try:
                yield Module(name, module_file(path))
            except ElfError:
                if names:
                    raise
