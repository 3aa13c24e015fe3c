"""Texts to programs on this host: the languages' view of the machine, put together in one place.

api.py and cli/ use it; languages know nothing of it: they see an ``Environment``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from probescope.diagnostics import Diagnostic, Source
from probescope.frozen import replace
from probescope.host_types import kernel_types
from probescope.model.probe import ProbeSpec
from probescope.model.site import KprobeAttach, Site
from probescope.sources.context import ResolveContext

if TYPE_CHECKING:
    from probescope.api import Request
    from probescope.ir.program import Program
    from probescope.lang.bt.check_program import Environment, UserSymbol
    from probescope.lang.bt.frontend import ScriptOptions
    from probescope.model.types import Enum, Layout, Type

SEVERAL = 4  # kprobes from which on it is worth to read ftrace's list of functions
MOST_PROBES = 1 << 20  # the script's own max_probes is checked by the language


def lower(request: Request) -> tuple[Program, tuple[Diagnostic, ...]]:
    """The program, valid, and warnings. Raises ScriptError, ProbeError or UsageError."""
    from probescope.lang.bt.compiler import compile_script

    done = compile_script(Source(request.name, request.text), environment(request))
    program = known_to_ftrace(done.program)
    if request.follow:
        _follows_somebody(request)
        program = program if request.via == "ftrace" else followed(program, request)
    if request.everything:
        program = replace(program, settings=replace(program.settings, count_misses=True))
    return program if request.via in ("perf", "ftrace") else _witnessed(program), done.warnings


def alone(request: Request) -> str:
    """The text of a program, with the files that it imports. Raises ScriptError."""
    from probescope.diagnostics import Source
    from probescope.lang.bt.frontend import bundled

    return bundled(Source(request.name, request.text), script_options(request))


def _witnessed(program: Program) -> Program:
    """With a clause that writes down names of what may be gone when it is printed; without, where that cannot be."""
    from probescope.plan.witness import SCRIPT, prints_containers, with_witness

    if not prints_containers(program):
        return program
    from probescope.errors import ProbescopeError

    try:
        return with_witness(program, _own_program("container", SCRIPT))
    except ProbescopeError:  # a kernel without types or without this tracepoint: then by what is there later
        return program


def _own_program(name: str, text: str) -> Program:
    """A script of ours, for this host. It is written and read back: its places are not places of the user's script."""
    from probescope.api import Request
    from probescope.ir.text import from_text, to_text
    from probescope.lang.bt.compiler import compile_script

    own = environment(Request(text, name=name, environment={}))
    return from_text(to_text(compile_script(Source(name, text), own).program))


def followed(program: Program, request: Request) -> Program:
    """For the process of ``-p`` or ``-c`` and what it forks. Raises ProbeError where that cannot be told here."""
    from probescope.errors import ProbeError, ProbescopeError
    from probescope.plan.follow import SCRIPT, following

    try:
        keepers = _own_program("--follow", SCRIPT)
    except ProbescopeError as e:
        raise ProbeError(f"--follow cannot be done here: {e.what}", hints=e.hints) from None
    return following(program, keepers, request.pid)


def _follows_somebody(request: Request) -> None:
    from probescope.errors import UsageError

    if not request.pid and not request.command:
        raise UsageError("--follow needs a process to begin with", hints=["-c COMMAND starts one, -p PID takes one"])


def known_to_ftrace(program: Program) -> Program:
    """Marks functions that ftrace can take, where a program names several: reading its list once takes less time than
    closing that many kprobes one by one (some 100 ms each); or both ends of one, which a session serves."""
    attaches = (s.attach for c in program.clauses for s in c.sites)
    plain = [a for a in attaches if isinstance(a, KprobeAttach) and _plain(a)]
    asked = {a.symbol for a in plain}
    if len(asked) < SEVERAL and not _both_ends(plain):
        return program
    from probescope.sources.kernel_functions import traceable_names

    found = traceable_names(asked)
    return replace(program, clauses=tuple(replace(c, sites=_marked(c.sites, found)) for c in program.clauses))


def _both_ends(attaches: Sequence[KprobeAttach]) -> bool:
    """Whether entry and return of a function are asked for, on a kernel where one program can serve both."""
    from probescope.collect.host import HostFeatures

    entries, returns = ({a.symbol for a in attaches if a.ret == ret} for ret in (False, True))
    return bool(entries & returns) and HostFeatures().state("attach:kprobe_session") == "yes"


def _plain(attach: KprobeAttach) -> bool:
    return bool(attach.symbol) and not attach.offset and not attach.traceable


def _marked(sites: tuple[Site, ...], found: set[str]) -> tuple[Site, ...]:
    return tuple(
        replace(s, attach=replace(s.attach, traceable=True))
        if isinstance(s.attach, KprobeAttach) and _plain(s.attach) and s.attach.symbol in found
        else s
        for s in sites
    )


def environment(request: Request) -> Environment:
    """This host and the command line, as a script is compiled against them. Nothing is looked up before it is asked
    for."""
    from probescope.collect.host import arch, own_namespace
    from probescope.kernel.machine import possible_cpus
    from probescope.lang.bt.check_program import Environment

    resolver = _Resolver(request)
    return Environment(
        resolve=resolver,
        types=kernel_types(),
        programs=resolver.programs,
        kaddr=_kernel_address,
        uaddr=_UserAddresses(request),
        cgroupid=_cgroup,
        kfunc=_kfunc,
        script=script_options(request),
        child=request.command,
        pid=request.pid,
        unwinds=bool(request.unwind_pids),
        unsafe=request.unsafe,
        arch=arch(),
        namespace=own_namespace(),
        ncpus=max(possible_cpus()) + 1,
        mode=request.mode,
        probe_filter=probe_filter(request.probe_filter),
        unserved=_unserved,
    )


def probe_filter(text: str) -> Callable[[str], object] | None:
    """Whether the name of a probe matches. Raises UsageError."""
    if not text:
        return None
    import re

    from probescope.errors import UsageError

    try:
        return re.compile(text).search
    except re.error as e:
        raise UsageError(f"Invalid --probe-filter regex: {text}: {e}") from None


def _unserved(site: Site) -> str:
    from probescope.collect.host import HostFeatures
    from probescope.plan.ladder import unserved

    return unserved(site, HostFeatures())


def script_options(request: Request) -> ScriptOptions:
    from probescope.kernel.host import host
    from probescope.lang.bt.files import Disk
    from probescope.lang.bt.frontend import ScriptOptions
    from probescope.lang.bt.params import Params
    from probescope.lang.bt.parser import ParseOptions

    parse = ParseOptions(
        pid=request.pid > 0,
        files=Disk(),
        include_dirs=request.include_dirs,
        system_dirs=(
            f"/usr/include/{host().machine}-linux-gnu",  # Debian's
            "/usr/include",
            *kernel_headers(host().machine, request.environment),
        ),
        includes=request.includes,
    )
    return ScriptOptions(parse, Params.of(request.parameters, request.options), request.environment)


_ARCHES = {"x86_64": "x86", "aarch64": "arm64"}  # as the kernel calls them


def kernel_headers(machine: str, environ: Mapping[str, str]) -> list[str]:
    """Folders of the headers of a kernel's source, and of those that its build made, if the user names them. In the
    order of the kernel's own Makefile (LINUXINCLUDE)."""
    source = environ.get("BPFTRACE_KERNEL_SOURCE", "")
    build = environ.get("BPFTRACE_KERNEL_BUILD", "") or source
    if not source:
        return []
    arch = f"arch/{_ARCHES.get(machine, machine)}/include"
    own = [f"{source}/{arch}", f"{build}/{arch}/generated", f"{source}/include", f"{build}/include"]
    user = [f"{source}/{arch}/uapi", f"{build}/{arch}/generated/uapi", f"{source}/include/uapi"]
    return [*own, *user, f"{build}/include/generated/uapi"]


class _Resolver:
    """``Resolve`` over sources/registry.py, with one context for the whole script."""

    def __init__(self, request: Request) -> None:
        from probescope.collect.host import arch
        from probescope.sources import kernel_functions

        kernel_functions.refresh()
        kernel_functions.choose_list(request.traceable_functions)
        self._pid = request.pid or -1
        self._child = _child_path(request.command)
        self._contexts = {
            fields: ResolveContext(
                pid=self._pid,
                child=self._child,
                arch=arch(),
                types=kernel_types() if fields else None,
                need_fields=fields,
                max_probes=MOST_PROBES,
                unsafe=request.unsafe,
                tries=request.unsafe and request.attaches,
                debug_dirs=request.debug_dirs,
            )
            for fields in (False, True)
        }
        self.programs = _Programs(self._contexts[True])

    def __call__(self, spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
        from probescope.sources import registry

        return registry.resolve(spec, self._contexts[need_fields])


class _Programs:
    """``Programs`` over the debug information of binaries, which is not touched before somebody asks."""

    def __init__(self, ctx: ResolveContext) -> None:
        self._ctx = ctx

    def named_in(self, path: str, name: str) -> Type | None:
        from probescope.sources.uprobe_types import program_types

        return program_types(self._ctx).named_in(path, name, self._ctx)

    def enumerator_in(self, path: str, name: str) -> tuple[Enum, int] | None:
        from probescope.sources.uprobe_types import program_types

        return program_types(self._ctx).enumerator_in(path, name, self._ctx)

    def layout(self, name: str) -> Layout | None:
        return self._ctx.programs.layout(name) if self._ctx.programs is not None else None

    def named(self, name: str) -> Type | None:
        return None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return self._ctx.programs.enum_values(name) if self._ctx.programs is not None else ()

    def names(self) -> list[str]:
        return self._ctx.programs.names() if self._ctx.programs is not None else []


def _child_path(command: str) -> str:
    if not command:
        return ""
    import shutil

    from probescope.kernel.child import split_command

    return shutil.which(split_command(command)[0]) or ""


def _kernel_address(name: str) -> int | None:
    from probescope.collect.host import kernel_symbols
    from probescope.kernel.advice import kernel_error

    symbols = kernel_symbols()
    found = symbols.address(name)
    if not found and symbols.restricted:
        raise kernel_error("read addresses in /proc/kallsyms", errno.EACCES, name)
    return found


class _UserAddresses:
    """Symbols of binaries, by path and name."""

    def __init__(self, request: Request) -> None:
        self._pid = request.pid

    def __call__(self, path: str, name: str) -> UserSymbol | None:
        from probescope.debuginfo.elf import ElfFile
        from probescope.lang.bt.check_program import UserSymbol

        with ElfFile.open(path) as elf:
            found = elf.symbols().find(name)
            if found is None:
                return None
            return UserSymbol(found.address, found.size, elf.is_pie, elf.to_vaddr)


def _cgroup(path: str) -> int | None:
    from probescope.kernel.cgroups import cgroup_id

    return cgroup_id(path)


def _kfunc(name: str, source: str) -> bool:
    from probescope.kernel.features import have
    from probescope.sources.kernel_btf import functions

    if not source:
        found = functions()
        return found is not None and found.find(name) is not None
    return have(f"kfunc:{name}") is True


def parse_probe(text: str) -> ProbeSpec:
    """One probe as written. Raises ProbeError."""
    from probescope.errors import ProbeError
    from probescope.lang.bt.attachpoint import parse
    from probescope.lang.bt.pointtext import PointError

    try:
        return parse(text)[0]
    except PointError as e:
        raise ProbeError(e.what, hints=list(e.hints)) from None
