"""What happened between recorded events, as perf-script(1) prints it when it is asked to (``--show-task-events``...).

    COMM    TID [CPU]  SECONDS.MICROS: PERF_RECORD_FORK(CHILD:THREAD):(PARENT:THREAD)

The thread is the one that the record is of; for what perf wrote itself at the start, all numbers of the head are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from probescope.kernel.uapi.perf import NAMESPACES
from probescope.model.recording import (
    Ended,
    LostEvents,
    MappedFile,
    Named,
    OtherRecord,
    SideRecord,
    Started,
    Switched,
)

#: What may be asked for, and the records that belong to it.
KINDS: dict[str, tuple[type[SideRecord] | str, ...]] = {
    "mmap": (MappedFile,),
    "task": (Named, Started, Ended),
    "switch": (Switched,),
    "lost": (LostEvents,),
    "namespace": ("NAMESPACES",),
    "bpf": ("KSYMBOL", "BPF_EVENT"),
    "cgroup": ("CGROUP",),
}
HEAD = ("comm", "tid", "cpu", "time")
MOST_NAMES = 1 << 20


class Sides:
    """``kinds``: of ``KINDS``. Every record is to be given, in order: names of threads are learnt on the way.
    ``seconds``: a time in ns as it is printed. ``fields``: of the head."""

    def __init__(self, kinds: Iterable[str], seconds: Callable[[int], str], fields: Collection[str] = HEAD) -> None:
        self._fields = fields
        self._wide = False
        self._shown = {one for kind in kinds for one in KINDS[kind]}
        self._seconds = seconds
        self._names: dict[int, str] = {0: "swapper"}

    def line(self, record: SideRecord) -> str | None:
        """With its end; None for what is not shown."""
        if isinstance(record, Named) and len(self._names) < MOST_NAMES:
            self._names[record.tid] = record.comm
        kind = record.kind if isinstance(record, OtherRecord) else type(record)
        if isinstance(record, Switched) and record.other_pid >= 0:
            self._wide = True
        text = self._head(record) + said(record, self._wide) + "\n" if kind in self._shown else None
        if isinstance(record, Started) and record.parent_tid in self._names and len(self._names) < MOST_NAMES:
            self._names[record.tid] = self._names[record.parent_tid]
        return text  # the name stays when the thread ends: it is switched from after that

    def _head(self, record: SideRecord) -> str:
        tid = record.parent_tid if isinstance(record, Started) else record.tid
        shown = tid if record.time else 0
        texts = (
            ("comm", f"{self._names.get(tid) or f':{record.tid}':>16} "),
            ("tid", f"{shown:7d} "),
            ("cpu", f"[{max(record.cpu, 0):03d}] "),
            ("time", f"{self._seconds(record.time)}: "),
        )
        return "".join(text for field, text in texts if field in self._fields)


def said(record: SideRecord, wide: bool) -> str:
    """``wide``: switches of CPUs, not of one thread."""
    match record:
        case MappedFile():
            return _mapped(record)
        case Named():
            return f"PERF_RECORD_COMM{' exec' if record.exec else ''}: {record.comm}:{record.pid}/{record.tid}"
        case Started() | Ended():
            name = "FORK" if isinstance(record, Started) else "EXIT"
            return f"PERF_RECORD_{name}({record.pid}:{record.tid}):({record.parent}:{record.parent_tid})"
        case LostEvents():
            name = "LOST" if record.kind == "lost" else "LOST_SAMPLES"
            return f"PERF_RECORD_{name} lost {record.count}"
        case Switched():
            return _switched(record, wide)
        case OtherRecord():
            return f"PERF_RECORD_{record.kind}{_values(record)}"
        case _:
            return f"PERF_RECORD_{type(record).__name__}"


def _mapped(r: MappedFile) -> str:
    """Records of before 3.16 have neither a protection nor an inode."""
    extent = f"{r.pid}/{r.tid}: [{_hex(r.start)}({_hex(r.size)}) @ {_hex(r.offset)}"
    if not (r.protection or r.flags or r.inode or r.build_id):
        return f"PERF_RECORD_MMAP {extent}]: {'x' if r.executable else 'r'} {r.path}"
    what = f"<{r.build_id.hex()}>" if r.build_id else "{:02x}:{:02x} {} {}".format(*r.device, r.inode, r.generation)
    letters = "".join(c if r.protection & bit else "-" for bit, c in ((1, "r"), (2, "w"), (4, "x")))
    return f"PERF_RECORD_MMAP2 {extent} {what}]: {letters}{'s' if r.flags & 1 else 'p'} {r.path}"


def _switched(r: Switched, wide: bool) -> str:
    way = "OUT preempt" if r.preempted else "OUT        " if r.out else "IN         "
    if not wide:
        return f"PERF_RECORD_SWITCH {way}"
    other = "next" if r.out else "prev"
    return f"PERF_RECORD_SWITCH_CPU_WIDE {way}  {other} pid/tid: {r.other_pid:5d}/{r.other_tid:<5d}"


def _values(r: OtherRecord) -> str:
    v = r.values
    match r.kind:
        case "NAMESPACES":
            found = [
                f"{i}/{NAMESPACES[i] if i < len(NAMESPACES) else '?'}: {device}/{_hex(inode)}"
                for i, (device, inode) in enumerate(v["namespaces"])
            ]
            lines = [", ".join(found[at : at + 4]) for at in range(0, len(found), 4)]
            return f" {r.pid}/{r.tid} - nr_namespaces: {len(found)}\n\t\t[" + ", \n\t\t ".join(lines) + "]"
        case "KSYMBOL":
            return f" addr {v['addr']:x} len {v['len']} type {v['ksym_type']} flags {v['flags']:#x} name {v['name']}"
        case "BPF_EVENT":
            return f" type {v['type']}, flags {v['flags']}, id {v['id']}"
        case "CGROUP":
            return f" cgroup: {v['id']} {v['path']}"
        case _:
            return "".join(f" {name} {value}" for name, value in v.items())


def _hex(number: int) -> str:
    """As C's %#lx: no prefix for 0."""
    return f"{number:#x}" if number else "0"
