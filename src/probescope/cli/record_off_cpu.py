"""``record --off-cpu``: a program in the kernel that sums up how long threads wait, by thread and stack.

As perf's does, it counts what leaves a CPU to sleep, interruptibly or not, and is no thread of the kernel; a wait
belongs to whoever comes back, with the stack that it left with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from probescope.collect.recorder.off_cpu import Waited
from probescope.errors import ProbescopeError

if TYPE_CHECKING:
    from probescope.live import LiveSession

DEPTH = 64
"""Frames of a stack."""
_LOOK_S = 0.1
"""How often the program's processes are looked after: whose stacks are unwound by tables that we put there."""
_SCRIPT = """config = {{ max_map_keys = 65536; }}
{begin}tracepoint:sched:sched_switch
{{
    $state = args.prev_state & 0xff;
    if (($state == 1 || $state == 2) && (curtask.flags & 0x200000) == 0 && {ours}) {{
        @off[tid] = (nsecs, ustack(raw, {depth}), pid, {cgroup});
    }}
    $s = @off[args.next_pid];
    if ($s.0) {{
        @waited[$s.2, args.next_pid, $s.1, $s.3] = sum(nsecs - $s.0);
        delete(@off, args.next_pid);
    }}
}}
{follow}"""
"""TASK_INTERRUPTIBLE 1, TASK_UNINTERRUPTIBLE 2, PF_KTHREAD 0x200000: include/linux/sched.h."""
_CHILDREN = """tracepoint:task:task_newtask
{
    if (@p[pid] && (args.clone_flags & 0x10000) == 0) { @p[args.pid] = 1; }
    if (@t[tid]) { @t[args.pid] = 1; }
}
"""
"""CLONE_THREAD 0x10000: include/uapi/linux/sched.h."""


def script(
    pids: Sequence[int], tids: Sequence[int], *, cpus: Sequence[int] = (), cgroup: int = 0, inherit: bool, cgroups: bool
) -> str:
    """Of these processes and threads, on these CPUs, in the cgroup of this number: all where none is named.
    ``cgroups``: waits are told apart by them."""
    tests = ["(@p[pid] || @t[tid])"] if pids or tids else []
    tests += ["(" + " || ".join(f"cpu == {c}" for c in cpus) + ")"] if cpus else []
    tests += [f"cgroup == {cgroup}"] if cgroup else []
    marks = "".join([*(f" @p[{p}] = 1;" for p in pids), *(f" @t[{t}] = 1;" for t in tids)])
    return _SCRIPT.format(
        begin=f"BEGIN {{{marks} }}\n" if marks else "",
        ours=" && ".join(tests) or "1",
        depth=DEPTH,
        cgroup="cgroup" if cgroups else "(uint64)0",
        follow=_CHILDREN if marks and inherit else "",
    )


class KernelWaits:
    """``off_cpu.Waiting``. ``say``: is told what was lost."""

    def __init__(
        self, cpus: Sequence[int], cgroup: int, *, inherit: bool, cgroups: bool, say: Callable[[str], None]
    ) -> None:
        self._options = {"cpus": cpus, "cgroup": cgroup, "inherit": inherit, "cgroups": cgroups}
        self._say = say
        self._session: LiveSession | None = None
        self._looked = 0.0

    def start(self, pids: Sequence[int], tids: Sequence[int]) -> None:
        from probescope.api import Request, build
        from probescope.live import LiveSession

        if self._session is None:
            text = script(pids, tids, **self._options)  # type: ignore[arg-type]
            request = Request(text, name="--off-cpu", via="bpf", environment={}, unwind_pids=tuple(pids))
            self._session = LiveSession(build(request))

    def poll(self) -> None:
        now = time.monotonic()
        if self._session is not None and now >= self._looked + _LOOK_S:
            self._looked = now
            self._session.poll(0)

    def stop(self) -> Iterable[Waited]:
        from probescope.model.output import Lost

        if self._session is None:
            return ()
        self._session.stop()
        for output in self._session.poll(0):
            if isinstance(output, Lost) and output.kind != "unwind_late":
                self._say(f"--off-cpu: {output.count} {output.about}")
        return [
            Waited(pid, tid, int(ns), tuple(f.address for f in stack.frames), cgroup)
            for (pid, tid, stack, cgroup), ns in self._session.maps["@waited"].items()
        ]

    def close(self) -> None:
        if self._session is not None and self._session.running:
            try:
                self._session.stop()
            except ProbescopeError:
                return
