"""A ``Setup`` written into tracefs: in an instance of our own where the kernel lets it, and always undone.

Before 6.11 ("ftrace: Allow function_graph tracer to be enabled in instances") that tracer exists in the top buffer
only. That one is taken if nobody uses it, and left as it was found. The roots of function graphs and their depth are
settings of the whole machine on every kernel: they are borrowed, see kernel/borrowed.py.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Self

from probescope.collect.ftrace import stats
from probescope.collect.ftrace.setup import DynamicSetup, EventSetup, Setup
from probescope.diagnostics import nearest
from probescope.errors import KernelError, ProbeError, SessionError, UsageError
from probescope.kernel import tracefs
from probescope.kernel.borrowed import Borrowed, tracers_at_work
from probescope.kernel.host import host
from probescope.kernel.leftovers import leftovers, reap
from probescope.kernel.watchdog import Watchdog

MOST_PIDS = 256
"""Numbers of threads that one write takes: set_event_pid looks at no more than a page."""
_FUNCTION_TRACERS = ("function", "function_graph")
_MANY = 64
"""Names that are written through one descriptor, whose set is made anew once: none of them is said to be wrong."""


class Armed:
    """Nothing is recorded before ``start``. ``base``: the buffer's folder; ``private``: it is an instance of our own.
    ``close`` undoes everything; a process beside ours does if we are killed. Raises KernelError, UsageError (a tracer,
    function or event that is not there), SessionError (somebody else uses what we would have to change)."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        reap()
        tracer_names = tracefs.tracers()
        if setup.tracer not in tracer_names:
            raise no_tracer(setup.tracer, tracer_names)
        self._instance: tracefs.Instance | None = None
        self._borrowed = Borrowed()
        self._made: list[DynamicSetup] = []
        self._options: list[str] = []  # as they were
        self._dog = Watchdog(partial(reap_after, host().getpid()))
        try:
            self._place()
            self._write()
        except BaseException:
            self.close()
            raise

    def _place(self) -> None:
        self._instance = tracefs.Instance(self.setup.tag)
        self.base = self._instance.path
        if self.setup.tracer not in self._instance.read("available_tracers").split():
            self._instance.close()
            self._instance = None
            self.base = tracefs.find_root()
            take_top(self._borrowed)
            self._borrowed.note("trace", "", truncate=True)
            self._borrowed.note("tracing_on", tracefs.read("tracing_on").strip())

    @property
    def private(self) -> bool:
        return self._instance is not None

    # --- writing ---

    def _write(self) -> None:
        s = self.setup
        self._set("tracing_on", "0")
        self._clock()
        if s.buffer_kb:
            self._size(s.buffer_kb)
        for file, names in (("set_ftrace_filter", s.functions), ("set_ftrace_notrace", s.notrace)):
            self._names(file, names, own=self.private)
        self._alone()
        for file, names in (("set_graph_function", s.graph), ("set_graph_notrace", s.graph_notrace)):
            self._names(file, names, own=False)
        if s.depth:
            self._borrowed.write("max_graph_depth", str(s.depth))
        if s.threshold_us:
            self._borrowed.write("tracing_thresh", str(s.threshold_us))
        self._pids()
        for made in s.dynamic:
            tracefs.write(f"{made.kind}_events", made.definition)
            self._made.append(made)
        for event in s.events:
            self._event(event)
        self._tracer()
        for option in s.options:
            self._option(option)

    def _size(self, kb: int) -> None:
        if self.private:
            tracefs.size_buffer(self.base, kb)
            return
        before = tracefs.told_size(tracefs.read("buffer_size_kb"))
        if before != "X":  # chosen CPU by CPU: it could not be put back
            self._borrowed.note("buffer_size_kb", before)
            self._set("buffer_size_kb", str(kb))

    def _alone(self) -> None:
        """What is one for the machine may be empty, and all the same mean something to whoever traces already."""
        s = self.setup
        graph = s.graph or s.graph_notrace or s.depth
        for name, tracer in tracers_at_work({self.base}) if graph or s.threshold_us else ():
            if s.threshold_us or tracer == "function_graph":
                what = f"{tracer} works in {name} of tracefs: roots, depth and threshold are one for all"
                raise SessionError(what, hints=["trace-cmd reset, or its owner, ends it; -l FUNCTION needs no roots"])

    def _set(self, file: str, text: str) -> None:
        tracefs.write(file, text, self.base)

    def _clock(self) -> None:
        if not self.setup.clock:
            return
        if not self.private:
            now = tracefs.read("trace_clock", self.base)
            self._borrowed.note("trace_clock", now.partition("[")[2].partition("]")[0] or "local")
        try:
            self._set("trace_clock", self.setup.clock)
        except KernelError as e:
            known = tracefs.read("trace_clock", self.base).replace("[", "").replace("]", "").split()
            raise UsageError(f"there is no trace clock {self.setup.clock}", hints=[f"one of {' '.join(known)}"]) from e

    def _names(self, file: str, names: tuple[str, ...], *, own: bool) -> None:
        if own and len(names) > _MANY:
            tracefs.write_words(file, names, self.base)
            return
        for name in names:
            try:
                # a word without an end is looked at when the file is closed, and what is wrong with it is not told
                if own:
                    tracefs.write(file, name + "\n", self.base)
                else:
                    self._borrowed.write(file, name + "\n")
            except KernelError as e:
                raise no_function(name, e) from e

    def _pids(self) -> None:
        s = self.setup
        if not s.pids:
            return
        text = " ".join(map(str, s.pids))
        if s.tracer in _FUNCTION_TRACERS:
            if self.private:
                self._set("set_ftrace_pid", text)
            else:
                self._borrowed.write("set_ftrace_pid", text)
            if s.follow:
                self._option("function-fork")
        if s.events:
            for at in range(0, len(s.pids), MOST_PIDS):
                pids = " ".join(map(str, s.pids[at : at + MOST_PIDS]))
                if self.private:
                    self._set("set_event_pid", pids)
                else:
                    self._borrowed.write("set_event_pid", pids)
            if s.follow:
                self._option("event-fork")

    def _event(self, event: EventSetup) -> None:
        system, _, name = event.name.partition(":")
        if not tracefs.has_event(system, name):
            known = [f"{a}:{b}" for a, b in tracefs.available_events()]
            near = nearest(event.name, known)
            hints = [f"did you mean {' or '.join(near)}?"] if near else ["probescope list 'tracepoint:*'"]
            raise ProbeError(f"there is no event {event.name}", hints=hints)
        folder = f"events/{system}/{name}"
        if not self.private:
            self._borrowed.note(f"{folder}/enable", "0")
        if event.filter:
            self._filter(f"{folder}/filter", event)
        for trigger in event.triggers:
            self._set(f"{folder}/trigger", trigger)
        if event.recorded:
            self._set(f"{folder}/enable", "1")

    def _filter(self, file: str, event: EventSetup) -> None:
        if not self.private:
            before = tracefs.read(file).strip()
            self._borrowed.note(file, "0" if before == "none" else before)
        try:
            self._set(file, event.filter)
        except KernelError as e:
            said = ""
            with suppress(KernelError):
                said = tracefs.read(file, self.base).strip()
            raise filter_error(event, said) from e

    def _tracer(self) -> None:
        if self.setup.tracer == "nop":
            return
        if self.private:
            self._set("current_tracer", self.setup.tracer)
        else:
            self._borrowed.write("current_tracer", self.setup.tracer)

    def _option(self, option: str) -> None:
        """A tracer's options are those of all buffers on most kernels, ours in an instance too."""
        shown = tracefs.read("trace_options", self.base).split()
        bare = option.removeprefix("no")
        before = next((o for o in shown if o in {option, bare, f"no{bare}"}), "")
        if before and before != option:
            place = self.base.removeprefix(tracefs.find_root()).lstrip("/")
            self._borrowed.note(f"{place}/trace_options".lstrip("/"), before)
            self._options.append(before)
        try:
            self._set("trace_options", option)
        except KernelError as e:
            known = [o.removeprefix("no") for o in tracefs.read("trace_options", self.base).split()]
            near = nearest(option.removeprefix("no"), known)
            hints = [f"did you mean {near[0]}?"] if near else [f"cat {self.base}/trace_options"]
            raise UsageError(f"this kernel's {self.setup.tracer} tracer has no option {option}", hints=hints) from e

    def borrow(self, file: str, text: str) -> None:
        """Changes a file of the whole machine's, such as osnoise/period_us; what it held is put back in the end, and
        nobody else of us may have it meanwhile."""
        self._borrowed.hold(file)
        # of several words the one that is chosen
        self._borrowed.change(file, text, lambda now: now.partition("[")[2].partition("]")[0] or now)

    # --- running ---

    def start(self) -> None:
        self._set("tracing_on", "1")

    def stop(self) -> None:
        with suppress(KernelError):
            self._set("tracing_on", "0")

    def lost(self, cpus: list[int]) -> int:
        """Events that were overwritten or dropped before they could be read."""
        return stats.total(self.base, cpus)

    def recorded(self, cpus: list[int]) -> int:
        """Events that came, those that were lost among them; none was read yet."""
        return stats.total(self.base, cpus, ("entries", *stats.LOST))

    def close(self) -> None:
        if self._instance is not None:
            self.stop()
            for option in reversed(self._options):
                with suppress(KernelError):
                    self._set("trace_options", option)
            with suppress(KernelError):
                self._set("current_tracer", "nop")
            self._instance.close()
            self._instance = None
        self._borrowed.close()  # the top buffer is as it was, and empty
        for made in self._made:
            with suppress(KernelError):
                tracefs.write(f"{made.kind}_events", f"-:{made.name}")
        self._made = []
        self._dog.dismiss()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def reap_after(pid: int) -> None:
    """In the watchdog, when the process that armed is gone: until somebody has waited for it, ``/proc`` knows it."""
    import time

    for _ in range(100):
        reap()
        if not any(item.pid == pid for item in leftovers()):
            return
        time.sleep(0.05)


def take_top(borrowed: Borrowed) -> None:
    """The top buffer is ours until ``borrowed`` is closed. Raises SessionError where somebody uses it."""
    borrowed.hold("top buffer")
    used = "the top buffer of tracefs is in use, and this kernel has function_graph there only"
    look = f"trace-cmd reset, or its owner, gives it back: {tracefs.find_root()}"
    if tracefs.read("current_tracer").strip() != "nop" or tracefs.read("events/enable").strip() != "0":
        raise SessionError(used, hints=[look])
    if any(line and not line.startswith("#") for line in tracefs.read("trace", limit=1 << 16).splitlines()):
        raise SessionError("the top buffer of tracefs holds somebody's trace, which would be lost", hints=[look])


def no_tracer(name: str, known: list[str]) -> UsageError:
    near = nearest(name, known)
    hints = [f"did you mean {near[0]}?"] if near else []
    return UsageError(f"this kernel has no tracer {name}", hints=[*hints, f"it has {' '.join(sorted(known))}"])


def no_function(name: str, e: KernelError) -> ProbeError:
    if any(c in name for c in "*?[:"):
        return ProbeError(f"ftrace can trace no function like {name}", hints=[f"the kernel says: {e.what}"])
    near = nearest(name, [function for function, _ in tracefs.filter_functions()])
    hints = [f"did you mean {' or '.join(near)}?"] if near else []
    return ProbeError(f"ftrace cannot trace a function {name}", hints=[*hints, "probescope list 'kprobe:*'"])


def filter_error(event: EventSetup, said: str) -> ProbeError:
    """What the kernel writes into the filter file::

    common_pid == foo
                  ^
    parse_error: Field not found
    """
    lines = said.splitlines()
    caret = next((line.index("^") for line in lines if line.strip() == "^"), -1)
    why = lines[-1].partition("parse_error: ")[2] or lines[-1] if lines else "it makes no sense to the kernel"
    shown = [event.filter, " " * caret + "^"] if 0 <= caret <= len(event.filter) else [event.filter]
    return ProbeError(f"the filter of {event.name}: {why}", hints=["\n".join(shown), _fields_hint(event.name)])


def _fields_hint(name: str) -> str:
    from probescope.formats.tracing.event_format import parse_event_format

    system, _, event = name.partition(":")
    fields = parse_event_format(tracefs.event_format(system, event), system).fields
    return "fields: " + ", ".join(f.name for f in fields)
