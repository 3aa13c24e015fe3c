"""Options of `ftrace record`, `start`, `stream`, `set`: trace-cmd's names and meanings, made a ``TracePlan``.

Options after ``-B NAME`` are of that buffer; ``-f`` and ``-R`` of the ``-e`` before them; ``-v`` turns those after it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.numbers import whole
from probescope.cli.parsing import Parser
from probescope.errors import UsageError
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.collect.ftrace.record_plan import BufferPlan, EventChoice, TracePlan

_FLEET = "recordings of other machines: run this there, by ssh, and copy the file"
_PROFILE = "probescope flame --off-cpu shows what tasks wait for; probescope latency, times between two events"
#: What has no meaning here, and what there is instead.
REFUSED = {
    "-N": _FLEET,
    "-V": _FLEET,
    "-A": _FLEET,
    "--proxy": _FLEET,
    "--name": _FLEET,
    "--tsync-interval": _FLEET,
    "-t": "it belongs to -N, which is not here: " + _FLEET,
    "-k": "the buffers of a recording are private and go with it: ftrace start keeps them, extract writes a file",
    "-S": _PROFILE,
    "-G": _PROFILE,
    "-H": _PROFILE,
    "--profile": _PROFILE,
    "--by-comm": _PROFILE,
    "--fork": "the shell's & does that",
    "--tsc2nsec": "-C mono counts nanoseconds by itself, as cheaply",
}
DEFAULT_KB = 4096
"""Of each CPU's buffer: three times what the kernel takes by itself, so that nothing is lost while the disk is slow. On
machines with many CPUs it is the kernel's size."""
_MANY_CPUS, _KERNELS_KB = 64, 1408


def default_kb() -> int:
    from probescope.kernel.machine import online_cpus

    return DEFAULT_KB if len(online_cpus()) <= _MANY_CPUS else _KERNELS_KB


class Ordered(argparse.Action):
    """Options that mean what stands before them."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.ordered = [*(getattr(namespace, "ordered", None) or []), (self.dest, values)]


def add_tracing(p: Parser) -> None:
    """What is traced, into which buffer."""
    p.set_defaults(ordered=[])
    p.add_argument(
        "-e", dest="event", action=Ordered, metavar="EVENT", help="SYSTEM, SYSTEM:EVENT or EVENT, globs; all"
    )
    p.add_argument("-f", dest="filter", action=Ordered, metavar="FILTER", help="of the -e before it: 'prev_prio < 100'")
    p.add_argument(
        "-R", dest="trigger", action=Ordered, metavar="TRIGGER", help="of the -e before it: stacktrace, traceoff..."
    )
    p.add_argument("-v", dest="negate", action=Ordered, nargs=0, help="the -e after it are left out of those before")
    p.add_argument("-a", dest="everything", action="store_true", help="all events there are")
    p.add_argument("-p", dest="tracer", action=Ordered, metavar="TRACER", help="function, function_graph, ...")
    p.add_argument("-l", dest="function", action=Ordered, metavar="FUNCTION", help="trace these functions only; globs")
    p.add_argument("-n", dest="notrace", action=Ordered, metavar="FUNCTION", help="leave these out")
    p.add_argument("-g", dest="graph", action=Ordered, metavar="FUNCTION", help="roots of function graphs")
    p.add_argument("--module", dest="module", action=Ordered, metavar="MODULE", help="functions of this module only")
    p.add_argument(
        "-O", dest="option", action=Ordered, metavar="OPTION", help="of ftrace: sym-offset, nosleep-time, ..."
    )
    p.add_argument("-T", dest="stacks", action=Ordered, nargs=0, help="a kernel stack with each event")
    p.add_argument(
        "--func-stack", dest="func_stack", action=Ordered, nargs=0, help="a stack with each function: costs much"
    )
    p.add_argument("-C", dest="clock", action=Ordered, metavar="CLOCK", help="local, global, mono, boot, x86-tsc, ...")
    p.add_argument("-b", dest="kb", action=Ordered, metavar="KB", help=f"of each CPU's buffer ({DEFAULT_KB})")
    p.add_argument("-M", dest="cpumask", action=Ordered, metavar="MASK", help="CPUs, in hexadecimal")
    p.add_argument(
        "-B", dest="buffer", action=Ordered, metavar="NAME", help="options after it are for a buffer of this name"
    )
    p.add_argument(
        "-d", dest="no_functions", action=Ordered, nargs=0, help="the function tracer stays off with other tracers"
    )
    p.add_argument(
        "-D", dest="no_functions", action=Ordered, nargs=0, help="the same: it is not switched off for others"
    )
    p.add_argument("-F", dest="only_command", action="store_true", help="trace the command only")
    p.add_argument("-P", dest="pids", action="append", default=[], metavar="PID,...", help="trace these threads only")
    p.add_argument("-c", dest="follow", action="store_true", help="with -F and -P: their children too")
    p.add_argument("-i", dest="lenient", action="store_true", help="events that are not there are passed over")
    p.add_argument("--max-graph-depth", dest="depth", metavar="N", help="levels of calls of function_graph")
    p.add_argument("--cmdlines-size", dest="cmdlines", metavar="N", help="names of threads that the kernel keeps")
    p.add_argument("--no-filter", action="store_true", help="what probescope itself does is recorded too")
    p.add_argument("--yes-really", action="store_true", help="trace every function of the kernel")
    p.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and losses")


def split(p: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """Options end where the command begins: those behind it are its own."""
    values = {o for a in p._actions if a.nargs is None and a.option_strings for o in a.option_strings}
    known = {o for a in p._actions for o in a.option_strings}
    i = 0
    while i < len(argv) and argv[i].startswith("-") and argv[i] not in ("--", "-"):
        word = argv[i].partition("=")[0]
        for name in (word, word[:2]):
            if name in REFUSED and name not in known:
                raise UsageError(f"{p.prog} has no {name}", hints=[REFUSED[name]])
        i += 2 if _wants_more(argv[i], values) else 1
    args = p.parse_args(list(argv[:i]))
    rest = list(argv[i:])
    args.command = tuple(rest[1:] if rest[:1] == ["--"] else rest)
    return args


def _wants_more(word: str, values: set[str]) -> bool:
    """``-e`` and ``-Te``; not ``-b4096`` or ``--module=ext4``."""
    if word.startswith("--"):
        return word in values
    at = next((i for i, letter in enumerate(word[1:], 1) if f"-{letter}" in values), 0)
    return at > 0 and at == len(word) - 1


def trace_plan(args: argparse.Namespace) -> TracePlan:
    """Raises UsageError."""
    from probescope.collect.ftrace.record_plan import TracePlan

    folding = _Folding()
    for kind, value in args.ordered:
        getattr(folding, f"on_{kind}")(value)
    buffers = folding.finished(everything=args.everything)
    plan = TracePlan(
        buffers,
        _pids(args.pids),
        follow=args.follow,
        without=() if args.no_filter else (os.getpid(),),
        depth=number(args.depth, "--max-graph-depth", 255) if args.depth else 0,
        cmdlines=number(args.cmdlines, "--cmdlines-size", 1 << 22) if args.cmdlines else 0,
        lenient=args.lenient,
    )
    if args.follow and not (args.only_command or plan.pids):
        raise UsageError("-c goes with -F or -P: without them everybody is traced, children too")
    if plan.unlimited and not args.yes_really:
        hints = ["-l FUNCTION or -g FUNCTION, or add --yes-really: tracing then pauses when the machine suffers"]
        raise UsageError("tracing every function can freeze the machine", hints=hints)
    return plan


class _Folding:
    """Options in their order, folded into buffers."""

    def __init__(self) -> None:
        from probescope.collect.ftrace.record_plan import BufferPlan, EventChoice

        self._event = EventChoice
        self._new = BufferPlan
        self._done: list[BufferPlan] = []
        self._now = BufferPlan(size_kb=default_kb())
        self._module = ""
        self._off = False

    def _set(self, **values: Any) -> None:
        self._now = replace(self._now, **values)

    def on_event(self, pattern: str) -> None:
        for one in pattern.split(","):
            self._set(events=(*self._now.events, self._event(one, on=not self._off)))

    def _last(self, option: str) -> tuple[tuple[EventChoice, ...], EventChoice]:
        if not self._now.events:
            raise UsageError(f"{option} is of the event before it", hints=[f"-e SYSTEM:EVENT {option} ..."])
        return self._now.events[:-1], self._now.events[-1]

    def on_filter(self, text: str) -> None:
        before, last = self._last("-f")
        both = f"({last.filter})&&({text})" if last.filter else text
        self._set(events=(*before, replace(last, filter=both)))

    def on_trigger(self, text: str) -> None:
        before, last = self._last("-R")
        self._set(events=(*before, replace(last, triggers=(*last.triggers, text))))

    def on_negate(self, _: Any) -> None:
        self._off = True

    def on_tracer(self, name: str) -> None:
        self._set(tracer=name)

    def on_function(self, name: str) -> None:
        self._set(functions=(*self._now.functions, name))

    def on_notrace(self, name: str) -> None:
        self._set(notrace=(*self._now.notrace, name))

    def on_graph(self, name: str) -> None:
        self._set(graph=(*self._now.graph, name))

    def on_module(self, name: str) -> None:
        self._module = name

    def on_option(self, text: str) -> None:
        self._set(options=(*self._now.options, *text.split(",")))

    def on_stacks(self, _: Any) -> None:
        self._set(options=(*self._now.options, "stacktrace"))

    def on_func_stack(self, _: Any) -> None:
        if self._now.unlimited:
            raise UsageError("a stack with every function of the kernel would stop the machine", hints=["-l FUNCTION"])
        self._set(options=(*self._now.options, "func_stack_trace"))

    def on_no_functions(self, _: Any) -> None:
        self._set(options=(*self._now.options, "nofunction-trace"))

    def on_clock(self, name: str) -> None:
        self._set(clock=name)

    def on_kb(self, text: str) -> None:
        self._set(size_kb=number(text, "-b", 1 << 24))

    def on_cpumask(self, text: str) -> None:
        digits = text.removeprefix("0x").replace(",", "")
        if text != "-1" and (not digits or any(c not in "0123456789abcdefABCDEF" for c in digits)):
            raise UsageError(f"'{text}' is no mask of CPUs", hints=["-M 3 is CPU 0 and 1, in hexadecimal"])
        if text != "-1" and not digits.strip("0"):
            raise UsageError(f"the mask {text} has no CPU: nothing would be traced", hints=["-M 1 is CPU 0"])
        self._set(cpumask="" if text == "-1" else text.removeprefix("0x"))

    def on_buffer(self, name: str) -> None:
        if not name.isprintable() or not name or "/" in name or name in {".", ".."} or len(name) > 60:
            raise UsageError(f"'{name}' is no name of a buffer")
        self._close()
        self._now = self._new(name, size_kb=default_kb())
        self._off = False

    def _close(self) -> None:
        b = self._now
        if self._module:
            suffix = f":mod:{self._module}"
            self._now = replace(b, functions=tuple(f + suffix for f in b.functions) or (f"*{suffix}",))
            self._module = ""
        self._done.append(self._now)

    def finished(self, *, everything: bool) -> tuple[BufferPlan, ...]:
        self._close()
        main = self._done[0]
        if len(self._done) > 1 and not (main.events or main.tracer != "nop" or everything):
            self._done.pop(0)
        if everything:
            first = self._done[0]
            self._done[0] = replace(first, events=(self._event("all"), *first.events))
        return tuple(self._done)


def _pids(given: Sequence[str]) -> tuple[int, ...]:
    words = [w for text in given for w in text.split(",")]
    return tuple(number(w, "-P", 1 << 22) for w in words)


def number(text: str, option: str, most: int) -> int:
    """Of 1 to ``most``. Raises UsageError."""
    found = whole(text, 1, most)
    if found is None:
        raise UsageError(f"{option} {text}: not a number from 1 to {most}")
    return found
