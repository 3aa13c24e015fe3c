"""Texts to programs on this host: the languages' view of the machine, put together in one place.

api.py and cli/ use it; languages know nothing of it: they see an ``Environment``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.diagnostics import Diagnostic, Source
from probescope.host_types import kernel_types
from probescope.kernel.host import host
from probescope.model.probe import ProbeSpec
from probescope.model.site import Site
from probescope.sources.context import ResolveContext

if TYPE_CHECKING:
    from probescope.api import Request
    from probescope.ir.program import Program
    from probescope.lang.bt.check_program import Environment, UserSymbol

MOST_PROBES = 1 << 20  # the script's own max_probes is checked by the language


def lower(request: Request) -> tuple[Program, tuple[Diagnostic, ...]]:
    """The program, valid, and warnings. Raises ScriptError, ProbeError or UsageError."""
    from probescope.lang.bt.compile import compile_source

    return compile_source(Source(request.name, request.text), environment(request))


def environment(request: Request) -> Environment:
    """This host and the command line, as a script is compiled against them. Nothing is looked up before it is asked
    for."""
    from probescope.collect.host import arch, own_namespace
    from probescope.kernel.machine import possible_cpus
    from probescope.lang.bt.check_program import Environment

    positional, named = split_parameters(request.parameters)
    return Environment(
        resolve=_Resolver(request),
        types=kernel_types(),
        kaddr=_kernel_address,
        uaddr=_UserAddresses(request),
        cgroupid=_cgroup,
        kfunc=_kfunc,
        params=positional,
        options=named,
        environment=request.environment,
        child=request.command,
        pid=request.pid,
        unsafe=request.unsafe,
        arch=arch(),
        namespace=own_namespace(),
        ncpus=max(possible_cpus()) + 1,
        mode=request.mode,
    )


def split_parameters(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str | bool]]:
    """Positional ones, and ``--name`` or ``--name=value``."""
    positional: list[str] = []
    named: dict[str, str | bool] = {}
    for w in words:
        if w.startswith("--") and len(w) > 2:
            name, equals, value = w[2:].partition("=")
            named[name] = value if equals else True
        else:
            positional.append(w)
    return tuple(positional), named


class _Resolver:
    """``Resolve`` over sources/registry.py, with one context for the whole script."""

    def __init__(self, request: Request) -> None:
        from probescope.collect.host import arch

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
            )
            for fields in (False, True)
        }

    def __call__(self, spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
        from probescope.sources import registry

        return registry.resolve(spec, self._contexts[need_fields])


def _child_path(command: str) -> str:
    if not command:
        return ""
    import shutil

    from probescope.kernel.child import split_command

    return shutil.which(split_command(command)[0]) or ""


def _kernel_address(name: str) -> int | None:
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.kernel.machine import kallsyms

    cache = host().cache
    if "kallsyms" not in cache:
        cache["kallsyms"] = Kallsyms(kallsyms())
    table: Kallsyms = cache["kallsyms"]
    return table.address(name)


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
    """One probe as written. Raises ScriptError or ProbeError."""
    from probescope.lang.bt.attachpoint import parse

    return parse(text)[0]
