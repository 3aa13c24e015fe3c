"""What ftrace is asked to do, as data. Names are those of the files of tracefs (Documentation/trace/ftrace.rst)."""

from __future__ import annotations

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class EventSetup:
    """``name`` as ``system:event``. ``filter`` and ``triggers`` in the kernel's words. ``recorded``: not only its
    triggers are wanted."""

    name: str
    filter: str = ""
    triggers: tuple[str, ...] = ()
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class DynamicSetup:
    """An event that is made, and removed at the end. ``kind``: kprobe or uprobe, whose file takes ``definition``, which
    calls it ``name``, as ``group/event``; groups carry our prefix (kernel/leftovers.py)."""

    kind: str
    name: str
    definition: str


@dataclass(frozen=True, slots=True)
class Setup:
    """``functions`` and ``notrace`` limit what the tracers see; ``graph`` are the roots of function graphs, and
    ``graph_notrace`` is left out of them with all that it calls. ``depth`` 0: no limit. ``pids`` empty: everybody;
    ``follow``: their children too. ``threshold_us``: only returns of calls that took longer, no entries. ``options``:
    names, with ``no`` before what is switched off. ``clock`` empty: as the kernel has it. ``buffer_kb``: of each CPU,
    0: as the kernel has it. ``dynamic``: made before ``events``, which may name them. ``tag``: what the instance is
    called, after our prefix; a process has one of a name."""

    tracer: str = "nop"
    functions: tuple[str, ...] = ()
    notrace: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()
    graph_notrace: tuple[str, ...] = ()
    depth: int = 0
    pids: tuple[int, ...] = ()
    follow: bool = True
    threshold_us: int = 0
    events: tuple[EventSetup, ...] = ()
    options: tuple[str, ...] = ()
    clock: str = "mono"
    buffer_kb: int = 0
    dynamic: tuple[DynamicSetup, ...] = ()
    tag: str = "ftrace"

    @property
    def unlimited(self) -> bool:
        """Whether every function of the kernel would be traced."""
        return self.tracer in {"function", "function_graph"} and not (set(self.functions) - {"*"} or self.graph)
