"""A small kernel out of a dictionary: functions, tracepoints and iterators with BTF said by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probescope.debuginfo.btf_funcs import Function, Param
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.model.types import I32, I64, U32, U64, VOID, Layout, Member, Pointer, Struct
from probescope.sources import kernel_btf

FILE = Pointer(Struct("struct file"), "kernel")
TRACING = "/sys/kernel/tracing"
PAIR, BIG = Struct("struct pair"), Struct("struct big")


class Types:
    """Layouts of the structs that are used here."""

    sizes = {"struct pair": 16, "struct one": 4, "struct big": 24}

    def layout(self, name: str) -> Layout | None:
        if name == "struct bpf_iter__task":
            meta, task = (
                Pointer(Struct("struct bpf_iter_meta"), "kernel"),
                Pointer(Struct("struct task_struct"), "kernel"),
            )
            return Layout(name, 24, (Member("meta", meta, 0), Member("task", task, 8), Member("fd", U32, 16)))
        return Layout(name, self.sizes[name], ()) if name in self.sizes else None


class Btf:
    """Functions of one module, as ``BtfFunctions`` would tell them."""

    def __init__(
        self, *functions: Function, tracepoints: tuple[Function, ...] = (), iterators: tuple[str, ...] = ()
    ) -> None:
        self.known = {f.name: f for f in functions}
        self.events = {f.name: f for f in tracepoints}
        self.targets = iterators
        self.types = Types()

    def find(self, name: str) -> Function | None:
        return self.known.get(name)

    def names(self) -> list[str]:
        return list(self.known)

    def tracepoint(self, name: str) -> Function | None:
        return self.events.get(name)

    def tracepoint_names(self) -> list[str]:
        return list(self.events)

    def iterators(self) -> list[str]:
        return list(self.targets)

    def iterator(self, target: str) -> tuple[int, str] | None:
        return (77, f"struct bpf_iter__{target}") if target in self.targets else None


VFS_READ = Function("vfs_read", 11, (Param("file", FILE), Param("count", U64)), I64)
SWITCH = Function("sched_switch", 21, (Param("preempt", I32), Param("prev", FILE)), VOID)
KERNEL = {
    "vmlinux": Btf(
        VFS_READ,
        Function("vfs_open", 12, (Param("file", FILE),), I32),
        Function("notrace_me", 13, (), VOID),
        tracepoints=(SWITCH,),
        iterators=("task",),
    ),
    "ext4": Btf(
        Function("ext4_sync", 14, (Param("inode", FILE),), I32),
        tracepoints=(Function("ext4_event", 22, (), VOID),),
    ),
}
KALLSYMS = """ffffffff81000000 T _text
ffffffff81000100 T vfs_read
ffffffff81000200 T vfs_open
ffffffff81000300 t no_btf
ffffffff81000400 t notrace_me
ffffffff81000500 t split_up.isra.0
ffffffff81000600 D vfs_data
ffffffffc0000100 t ext4_sync\t[ext4]
ffffffffc0000200 t bpf_prog_123\t[bpf]
"""
TRACEABLE = "vfs_read\nvfs_open\nno_btf\nvfs_read.part.0\next4_sync [ext4]\n__ftrace_invalid_address___10\n"


def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHost]:
    """The body of a fixture."""
    host = FakeHost(
        {
            "/proc/kallsyms": KALLSYMS,
            f"{TRACING}/available_events": "sched:sched_switch\nsyscalls:sys_enter_open\n",
            f"{TRACING}/events/enable": "",
            f"{TRACING}/kprobe_events": "",
            f"{TRACING}/available_filter_functions": TRACEABLE,
            "/sys/kernel/debug/kprobes/blacklist": "0xffffffff81000200-0xffffffff81000300\tvfs_open\n",
        }
    )
    monkeypatch.setattr(kernel_btf, "functions", lambda m="": KERNEL.get(m or "vmlinux"))
    monkeypatch.setattr(kernel_btf, "types", lambda _="": Types())
    monkeypatch.setattr(kernel_btf, "modules", lambda: ["ext4"])
    with use_host(host):
        yield host
