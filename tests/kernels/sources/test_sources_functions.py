"""Kernel functions, module BTF, raw tracepoints and iterators on kernels that have them all."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from work import instructions

from probescope.errors import ProbeError
from probescope.kernel.perf_attr import kprobe_attr
from probescope.kernel.perf_event import perf_event_open
from probescope.model.probe import ProbeSpec
from probescope.model.site import FentryAttach, KprobeAttach, RawTracepointAttach, Site
from probescope.sources import kernel_functions, registry
from probescope.sources.context import ResolveContext

TRACEFS = Path("/sys/kernel/tracing")


def resolve(spec: ProbeSpec, **ctx: object) -> list[Site]:
    return registry.resolve(spec, ResolveContext(max_probes=1 << 20, **ctx))  # type: ignore[arg-type]


def listed(pattern: str) -> list[str]:
    return list(registry.list_probes(pattern, ResolveContext()))


@pytest.fixture(scope="module")
def functions() -> list[tuple[str, str]]:
    """(name, module) of available_filter_functions, read without our help."""
    rows = re.findall(r"^(\S+)(?: \[(\S+)\])?$", (TRACEFS / "available_filter_functions").read_text(), re.MULTILINE)
    return [(n, m) for n, m in rows if not n.startswith("__ftrace_invalid")]


def test_every_function_is_listed(functions: list[tuple[str, str]]) -> None:
    """Protects `list` on tens of thousands of functions: complete, and with little work for each."""
    found: list[str] = []
    work = instructions(lambda: found.extend(listed("kprobe:*")))
    halting = {n for n, _ in functions if n.startswith("rcu_")} | {"arch_cpu_idle", "default_idle"}
    split = {n for n, _ in functions if ".part." in n or ".cold" in n} | halting | {"bpf_dispatcher_xdp_func"}
    assert len(functions) > 20_000
    assert set(found) == {f"kprobe:{n}" for n, _ in functions if n not in split}
    again: list[str] = []
    little = instructions(lambda: again.extend(listed("kprobe:vfs_*")))
    assert set(again) == {f"kprobe:{n}" for n, _ in functions if n.startswith("vfs_") and n not in split}
    assert work < 200 * len(functions)
    assert little < 20 * len(functions)


def test_functions_of_modules(functions: list[tuple[str, str]]) -> None:
    """Protects MODULE:FUNCTION, with arguments out of the module's own BTF."""
    modules = {m for _, m in functions if m and os.path.exists(f"/sys/kernel/btf/{m}")}
    assert modules
    checked = 0
    for module in sorted(modules):
        names = [n for n, m in functions if m == module and ".part." not in n and ".cold" not in n]
        assert set(listed(f"kprobe:{module}:*")) == {f"kprobe:{module}:{n}" for n in names}
        typed = listed(f"fentry:{module}:*")
        assert set(typed) <= {f"fentry:{module}:{n}" for n in names}
        for full in typed[:20]:
            (site,) = resolve(ProbeSpec("fentry", module, full.split(":")[2]))
            assert isinstance(site.attach, FentryAttach)
            assert site.attach.module == module
            assert site.attach.btf_id > 0
            checked += len(site.fields)
    assert checked > 10


def test_named_arguments() -> None:
    """Protects names and types of arguments: ``vfs_read(struct file *file, char __user *buf, size_t count, loff_t
    *pos)``."""
    for source in ("kprobe", "fentry"):
        (site,) = resolve(ProbeSpec(source, name="vfs_read"))
        assert not site.reason
        assert [(f.name, str(f.type)) for f in site.fields] == [
            ("file", "struct file *"),
            ("buf", "int8 *"),
            ("count", "uint64"),
            ("pos", "int64 *"),
        ]
        assert registry.describe(site, ResolveContext()) == [
            "struct file * file",
            "char * buf",
            "size_t count",
            "loff_t * pos",
        ]
    (ret,) = resolve(ProbeSpec("fexit", name="vfs_read"))
    assert ret.ret is not None
    assert str(ret.ret.type) == "int64"
    assert registry.describe(ret, ResolveContext())[-1] == "ssize_t retval"


def hits(site: Site, work: object) -> int:
    a = site.attach
    assert isinstance(a, KprobeAttach)
    name = f"{a.module}:{a.symbol}" if a.module else a.symbol
    with perf_event_open(kprobe_attr(name, a.offset, address=a.address, ret=a.ret), pid=os.getpid()) as event:
        event.enable()
        work()  # type: ignore[operator]
        return event.read_values()[0]


def test_kprobes_fire() -> None:
    """Protects what is resolved: the kernel takes it, and it fires."""
    work = lambda: os.pread(os.open("/proc/self/status", os.O_RDONLY), 10, 0)  # noqa: E731
    for spec in (
        ProbeSpec("kprobe", name="vfs_read"),
        ProbeSpec("kretprobe", name="vfs_read"),
        ProbeSpec("kprobe", "vmlinux", "vfs_read"),
    ):
        (site,) = resolve(spec)
        assert hits(site, work) >= 1
    rows = [line.split() for line in Path("/proc/kallsyms").read_text().splitlines()]
    address = next(int(r[0], 16) for r in rows if r[1:] == ["T", "vfs_read"])
    (site,) = resolve(ProbeSpec("kprobe", address=address), unsafe=True)
    assert site.func == "vfs_read"
    assert hits(site, work) >= 1


def test_forbidden_functions() -> None:
    """Protects the reason for functions on the kernel's own blacklist."""
    path = Path("/sys/kernel/debug/kprobes/blacklist")
    names = [line.split()[-1] for line in path.read_text().splitlines()]
    symbols = {n for n, _ in kernel_functions.symbols()}
    name = next(n for n in names if n in symbols and "." not in n)
    (site,) = resolve(ProbeSpec("kprobe", name=name))
    assert "forbids kprobes" in site.reason


def test_untraceable_functions(functions: list[tuple[str, str]]) -> None:
    """Protects the reason for functions that BTF knows and ftrace cannot take."""
    from probescope.sources import kernel_btf

    kernel_functions.traceable()
    known = kernel_btf.functions()
    assert known
    can = {n for n, _ in functions}
    name = next(n for n in known.names() if n not in can)
    (site,) = resolve(ProbeSpec("fentry", name=name))
    assert "not in available_filter_functions" in site.reason


def test_raw_tracepoints_of_modules() -> None:
    """Protects raw tracepoints that modules define, with their module and its types."""
    found = [n for n in listed("rawtracepoint:*") if not n.startswith("rawtracepoint:vmlinux:")]
    assert found
    _, module, event = found[0].split(":")
    for spec in (ProbeSpec("rawtracepoint", module, event), ProbeSpec("rawtracepoint", name=event)):
        (site,) = resolve(spec)
        assert site.name == found[0]
        assert isinstance(site.attach, RawTracepointAttach)
        assert (site.attach.module, site.attach.event) == (module, event)
        assert site.attach.btf_id > 0


def test_iterators() -> None:
    """Protects the iterators that every kernel since 5.15 has."""
    assert {"iter:task", "iter:task_file", "iter:task_vma", "iter:bpf_map", "iter:ksym"} <= set(listed("iter")) | {
        "iter:ksym"  # from 6.0 on
    }
    (site,) = resolve(ProbeSpec("iter", name="task_file"))
    assert [f.name for f in site.fields] == ["meta", "task", "fd", "file"]
    assert registry.describe(site, ResolveContext()) == ["struct task_struct * task", "u32 fd", "struct file * file"]


def test_unknown_function() -> None:
    """Protects the nearest names among a hundred thousand."""
    with pytest.raises(ProbeError) as e:
        resolve(ProbeSpec("kprobe", name="vfs_raed"))
    assert "did you mean kprobe:vfs_read?" in e.value.hints
