"""Raw tracepoints, iterators and lists on a host out of a dictionary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sources_kernel
from sources_kernel import FILE, TRACING
from work import instructions

from probescope.errors import KernelError, ProbeError
from probescope.kernel.fake import FakeHost
from probescope.model.probe import ProbeSpec
from probescope.model.site import CtxArg, CtxLoad, Field, IterAttach, RawTracepointAttach, Site
from probescope.model.types import I32, U64
from probescope.sources import kernel_btf, kernel_functions, registry
from probescope.sources.context import ResolveContext
from probescope.sources.kernel_functions import TraceableFunctions


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHost]:
    yield from sources_kernel.machine(monkeypatch)


def resolve(spec: ProbeSpec, **ctx: object) -> list[Site]:
    return registry.resolve(spec, ResolveContext(**ctx))  # type: ignore[arg-type]


def listed(pattern: str) -> list[str]:
    return list(registry.list_probes(pattern, ResolveContext()))


# --- raw tracepoints and iterators
# ----------------------------------------------------------------------------------------


def test_raw_tracepoints(machine: FakeHost) -> None:
    """Protects typed arguments, by name and by position, of the kernel and of modules."""
    (site,) = resolve(ProbeSpec("rawtracepoint", name="sched_switch"))
    assert (site.name, site.attach) == (
        "rawtracepoint:vmlinux:sched_switch",
        RawTracepointAttach("sched_switch", 21),
    )
    assert site.fields == site.args == (Field("preempt", I32, CtxArg(0)), Field("prev", FILE, CtxArg(1)))
    (module,) = resolve(ProbeSpec("rawtracepoint", "*", "ext4_*"))
    assert module.attach == RawTracepointAttach("ext4_event", 22, "ext4")
    assert listed("rawtracepoint") == ["rawtracepoint:vmlinux:sched_switch", "rawtracepoint:ext4:ext4_event"]
    assert listed("rawtracepoint:*ext4*") == ["rawtracepoint:ext4:ext4_event"]


def test_raw_tracepoints_without_btf(machine: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects kernels without BTF: the arguments are words."""
    monkeypatch.setattr(kernel_btf, "functions", lambda _="": None)
    (site,) = resolve(ProbeSpec("rawtracepoint", name="sched_switch"))
    assert site.attach == RawTracepointAttach("sched_switch")
    assert site.fields == ()
    assert site.args is not None
    assert site.args[3] == Field("arg3", U64, CtxArg(3))


def test_unknown_raw_tracepoints(machine: FakeHost) -> None:
    """Protects the hints, also for single system calls, which have no raw tracepoint."""
    with pytest.raises(ProbeError) as e:
        resolve(ProbeSpec("rawtracepoint", name="sys_enter_open"))
    assert "tracepoint:syscalls:sys_enter_open" in e.value.hints[0]
    with pytest.raises(ProbeError, match="module 'ext4' has no raw tracepoint sched_switch"):
        resolve(ProbeSpec("rawtracepoint", "ext4", "sched_switch"))


def test_iterators(machine: FakeHost) -> None:
    """Protects context fields and pins."""
    (site,) = resolve(ProbeSpec("iter", name="task", target="list"))
    assert site.attach == IterAttach("task", "/sys/fs/bpf/list")
    assert [(f.name, f.where) for f in site.fields] == [
        ("meta", CtxLoad(0, 8)),
        ("task", CtxLoad(8, 8)),
        ("fd", CtxLoad(16, 4)),
    ]
    assert listed("iter:t*") == ["iter:task"]
    with pytest.raises(ProbeError) as e:
        resolve(ProbeSpec("iter", name="taks"))
    assert e.value.hints == ("did you mean iter:task?",)
    for pin in ("../x", "/sys/fs/bpf/../../etc/x", "dir/"):
        with pytest.raises(ProbeError, match="not a place to pin"):
            resolve(ProbeSpec("iter", name="task", target=pin))


# --- lists
# ----------------------------------------------------------------------------------------------------------------


def test_one_hundred_thousand_functions() -> None:
    """Protects `list` on the largest kernels: one pass over one text, a few instructions of Python for each name found
    and none for the others (150 for each found today would be 15 million)."""
    names = [f"function_{i}" + (f" [module_{i % 50}]" if i % 3 == 0 else "") for i in range(100_000)]
    found = TraceableFunctions("\n".join(names))

    def ask() -> None:
        assert len(found.match("*")) == 100_000
        assert len(found.match("*_9999?")) == 10
        assert len(found.match("*", "module_7")) == 667
        assert found.has("function_1")
        assert found.has("function_3", "module_3")
        assert not found.has("function_3", "module_4")

    assert instructions(ask) < 30 * len(names)


def test_one_silent_source_does_not_hide_the_others(machine: FakeHost) -> None:
    """Protects `list '*'` where a part of the kernel may not be read."""
    machine.denied.add(f"{TRACING}/available_filter_functions")
    found = listed("*:*sched_sw*")
    assert "tracepoint:sched:sched_switch" in found
    assert "rawtracepoint:vmlinux:sched_switch" in found
    with pytest.raises(KernelError):
        listed("fentry:*")


def test_why_a_source_has_nothing(machine: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the reason that `list` gives for an empty answer."""
    assert [registry.unavailable(s) for s in ("k", "fentry", "iter", "tracepoint")] == [""] * 4
    del machine.files[f"{TRACING}/kprobe_events"]
    monkeypatch.setattr(kernel_btf, "functions", lambda _="": None)
    assert "no kprobes" in registry.unavailable("kretprobe")
    assert "needs BTF" in registry.unavailable("fentry")


def test_traceable_names(machine: FakeHost) -> None:
    """Protects the planner's question whether several functions fit into one link."""
    assert kernel_functions.traceable_names({"vfs_read", "notrace_me", "nothing"}) == {"vfs_read"}
    del machine.files[f"{TRACING}/available_filter_functions"]
    machine.cache.pop("traceable_functions")
    assert kernel_functions.traceable_names({"vfs_read"}) == set()


def test_lists_are_read_anew_when_modules_come(machine: FakeHost) -> None:
    """A module loaded while probescope runs brings functions; the changing count of its users brings none."""
    machine.files["/proc/modules"] = b"ext4 1000 1 - Live 0xffffffffc0001000\n"
    assert not kernel_functions.traceable().has("md_flush_request")  # read before anybody looked at modules
    kernel_functions.refresh()
    assert "traceable_functions" not in machine.cache
    assert not kernel_functions.traceable().has("md_flush_request")
    machine.files[f"{TRACING}/available_filter_functions"] = b"vfs_read\nmd_flush_request [md_mod]\n"
    machine.files["/proc/modules"] = b"ext4 1000 2 - Live 0xffffffffc0001000\n"
    kernel_functions.refresh()
    assert not kernel_functions.traceable().has("md_flush_request")
    machine.files["/proc/modules"] += b"md_mod 1000 0 - Live 0xffffffffc0002000\n"
    kernel_functions.refresh()
    assert kernel_functions.traceable().has("md_flush_request")


def test_names_that_are_one_function(machine: FakeHost) -> None:
    """A link by names takes the first of several functions of one name without a word: such are left to kprobes, which
    refuse them. Few names or many are the same."""
    text = "\n".join(f"f{i}" for i in range(100)) + "\ntwice\ntwice\nalso [m]\nalso [n]\nonce [m]\n"
    machine.files[f"{TRACING}/available_filter_functions"] = text.encode()
    few = {"f1", "twice", "also", "once", "nowhere"}
    assert kernel_functions.traceable_names(few) == {"f1", "once"}
    many = few | {f"f{i}" for i in range(50)}
    assert kernel_functions.traceable_names(many) == {"once", *(f"f{i}" for i in range(50))}
