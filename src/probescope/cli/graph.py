"""``probescope graph``: which functions are called, in which order, and how long each takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser, a_name, bounded, cut_command, how_long, process_id
from probescope.collect.graph.request import WAYS, GraphRequest
from probescope.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.actions import Sink
    from probescope.collect.graph.probed import Who
    from probescope.collect.graph.request import Calls
    from probescope.collect.session import Session

EXAMPLES = """examples:
  probescope graph do_sys_openat2 -- ls             everything that it calls, as a tree, while ls runs
  probescope graph vfs_read vfs_write -p 1234 --depth 3
  probescope graph 'ext4_*' --summary --seconds 5   per function: calls, time, time of its own
  probescope graph nf_tables:nft_do_chain           in a module
  probescope graph schedule --histogram -- sleep 1  how long each call took
  probescope graph do_sys_openat2 --flame open.html -- find /etc
  probescope graph -x ./parser 'parse_*' -- ./parser            functions of a program
  probescope graph -x ./parser 'parse_*' --kernel -- ./parser   and what the kernel does below them
  probescope graph -i trace.dat --summary           of a recording, or of the text of one
  probescope graph '*' --yes-really --seconds 1     every function of the kernel; pauses before the machine freezes

the tree is the kernel's own: + more than 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s
"""
BUFFER_KB, SMALL_KB = 8192, 1024
RECORDED = {
    "funcgraph-args": "arguments of functions (6.15)",
    "funcgraph-retaddr": "where they return to (6.13)",
    "funcgraph-irqs": "interrupts, marked by arrows (default)",
    "sleep-time": "time asleep counts (default)",
    "graph-time": "time in called functions counts in the kernel's own profile",
}
SHOWN = {
    "funcgraph-tail": "tail",
    "funcgraph-proc": "proc",
    "funcgraph-abstime": "abstime",
    "funcgraph-overhead": "overhead",
    "funcgraph-duration": "duration",
    "funcgraph-cpu": "cpu",
    "funcgraph-overrun": "overrun",
    "funcgraph-retval": "retval",
    "funcgraph-retval-hex": "retval_hex",
}
"""Options of the kernel's tracer that say how it prints: they are ours to mind, and not changed there."""


def parser() -> Parser:
    p = Parser("graph", "Trace functions of the kernel, or of a program, and all that they call.", EXAMPLES, runs=True)
    _what(p)
    _who(p)
    _shown(p)
    return p


def _list(p: Parser, *names: str, dest: str, metavar: str, about: str) -> None:
    p.add_argument(*names, dest=dest, action="append", default=[], metavar=metavar, help=about)


def _what(p: Parser) -> None:
    p.add_argument("functions", nargs="*", metavar="FUNCTION", help="roots of the graph; globs; MODULE:FUNCTION")
    p.add_argument(
        "-x", "--exec", type=a_name, dest="binary", metavar="FILE", help="functions of this file, by uprobes"
    )
    p.add_argument(
        "-i", "--input", metavar="FILE", help="what was recorded: a trace.dat, or the text of one; - is stdin"
    )
    about = "with -x: what the kernel does below them; below these of its functions only (default: system calls)"
    p.add_argument("--kernel", nargs="?", const="", action="append", metavar="FUNCTION", help=about)
    _list(p, "-g", dest="roots", metavar="FUNCTION", about="another root")
    _list(p, "-n", dest="notrace", metavar="FUNCTION", about="leave it out, with all it calls")
    _list(p, "-l", dest="only", metavar="FUNCTION", about="trace these functions only")
    p.add_argument("--depth", "--max-graph-depth", "-D", type=_depth, default=0, metavar="N", help="levels of calls")
    about = "of the kernel's tracer, with `no` before it to switch it off: " + ", ".join([*RECORDED, *SHOWN])
    _list(p, "-O", dest="options", metavar="OPTION", about=about)
    _list(p, "-e", "--event", dest="events", metavar="SYSTEM:EVENT", about="print these events among the calls")
    p.add_argument("--via", choices=WAYS, default="auto", help="what answers for the kernel (the best that it has)")
    p.add_argument("--yes-really", action="store_true", help="trace every function of the kernel")


def _who(p: Parser) -> None:
    about = "these processes, and their children"
    p.add_argument("-p", "-P", "--pid", type=_pids, default=(), metavar="PID,...", help=about)
    p.add_argument("-a", "--all", action="store_true", help="every process, also with a command")
    p.add_argument("--seconds", type=how_long, default=0.0, metavar="S", help="end after so long")
    about = f"of each CPU ({BUFFER_KB}; {SMALL_KB} for every function)"
    p.add_argument("-b", "--buffer-size", type=_size, default=0, metavar="KB", help=about)


def _shown(p: Parser) -> None:
    p.add_argument("--summary", action="store_true", help="a line for each function instead of the tree")
    p.add_argument("--histogram", action="store_true", help="how the times of each root are spread")
    p.add_argument("--callers", action="store_true", help="who called what")
    p.add_argument("--flame", metavar="FILE", help="a flame graph of the time spent (.html, .svg, .folded)")
    about = "in the tree, only calls that took longer"
    p.add_argument("--threshold", type=_microseconds, default=0, metavar="US", help=about)
    for name, about in (
        ("tail", "names after closing braces"),
        ("proc", "the task in each line"),
        ("abstime", "times"),
        ("overrun", "calls that the tracer had no room for"),
        ("retval", "what functions return"),
        ("retval-hex", "the same, errors too in hexadecimal"),
        ("args", "their arguments, where the kernel records them (6.15)"),
    ):
        p.add_argument(f"--{name}", action="store_true", help=about)
    about = "text (default), or json: a document a line"
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help=about)
    p.add_argument("-o", "--output", metavar="FILE", help="write to a file; a trace.dat too where it ends in .dat")


def _depth(text: str) -> int:
    return int(bounded(text, "levels", 255))


def _size(text: str) -> int:
    return int(bounded(text, "kilobytes", 1 << 24))


def _microseconds(text: str) -> int:
    return int(bounded(text, "microseconds", 1e12) * 1000)


def _pids(text: str) -> tuple[int, ...]:
    return tuple(process_id(word) for word in text.split(","))


def parse(argv: list[str]) -> argparse.Namespace:
    """What follows ``--`` is the command."""
    own, command = cut_command(argv)
    args = parser().parse_args(own)
    args.command = command
    args.roots = [*args.functions, *args.roots]
    args.overhead = args.duration = args.cpu = True
    recorded = []
    for option in args.options:
        known = SHOWN.get(option.removeprefix("no"))
        if known:
            setattr(args, known, not option.startswith("no"))
        else:
            recorded.append(option)
    args.options = [*recorded, *(["funcgraph-args"] if args.args else [])]
    args.retval = args.retval or args.retval_hex
    args.summed = bool(args.summary or args.histogram or args.callers or args.flame)
    args.keep = args.output if (args.output or "").endswith(".dat") else ""
    return args


def main(argv: list[str]) -> int:
    from probescope.cli.graph_show import show
    from probescope.cli.terminal import colored_out
    from probescope.collect.graph.ways import calls

    args = parse(argv)
    if args.input:
        source: Calls = _recorded(args)
    else:
        request = asked(args)
        _tell_size(request)
        source = calls(request, _session, warn)
    out = _opened(None if args.keep else args.output)
    try:
        source.begin()
        return show(args, source, colored_out() if out is sys.stdout else out.write)
    finally:
        source.close()
        out.flush()
        if out is not sys.stdout:
            out.close()


def _recorded(args: argparse.Namespace) -> Calls:
    """Raises UsageError where the file has no function graph, or is none of ftrace."""
    from probescope.collect.graph.recorded import RecordedCalls
    from probescope.formats.sniff import OF_FTRACE, recording_kind
    from probescope.formats.tracing.graph import ENTRIES
    from probescope.recorded import opened

    if args.command or args.pid or args.binary or args.keep:
        raise UsageError("-i shows what was recorded: it runs nothing", hints=["leave -- COMMAND, -p and -x away"])
    if recording_kind(args.input) not in OF_FTRACE:
        _can_be_read(args.input)
        hints = ["a trace.dat of -p function_graph, or the text of one"]
        raise UsageError(f"{args.input} is no recording of ftrace", hints=hints)
    recording: Any = opened(args.input)
    if not any(e.name in ENTRIES for e in recording.events):
        recording.close()
        raise UsageError(f"{args.input} has no function graph", hints=["trace-cmd record -p function_graph makes one"])
    return RecordedCalls(recording, tuple(args.roots))


def _can_be_read(name: str) -> None:
    """Raises UsageError where it cannot: then nobody knows what it is."""
    if name == "-":
        return
    try:
        with open(name, "rb"):
            return
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}", hints=["probescope graph -o FILE makes one"]) from None


def asked(args: argparse.Namespace) -> GraphRequest:
    """Raises UsageError."""
    if not args.roots and not args.only:
        example = f"'*' -x {args.binary} -- {args.binary}" if args.binary else "do_sys_openat2 -- ls"
        raise UsageError("which function?", hints=[f"probescope graph {example}", "probescope graph --help"])
    if args.kernel is not None and not args.binary:
        raise UsageError("--kernel goes with -x FILE: without it, all is of the kernel")
    if args.binary and args.kernel is None and (args.args or args.options or args.events):
        tell("--args, -e and -O are of the kernel's tracer: with --kernel, or probescope run -e 'uprobe:FILE:FUNCTION'")
    if args.keep and args.binary and args.kernel is None:
        hints = ["-o FILE.txt writes the tree", "with --kernel it holds what the kernel does below these functions"]
        raise UsageError("a trace.dat holds what the kernel's tracer records", hints=hints)
    if args.binary and len(args.pid) > 1:
        raise UsageError("functions of a file are traced in one process, or in all", hints=["-p PID", "-a"])
    everything = not args.binary and ("*" in args.roots or ("*" in args.only and not args.roots))
    if everything and not args.yes_really:
        hints = ["name functions, or add --yes-really: tracing then pauses when the machine suffers"]
        raise UsageError("tracing every function can freeze the machine", hints=hints)
    return GraphRequest(
        roots=tuple(args.roots),
        only=tuple(args.only),
        notrace=tuple(args.notrace),
        binary=args.binary or "",
        kernel=tuple(name for name in args.kernel if name) if args.kernel is not None else None,
        via=args.via,
        command=args.command,
        pids=args.pid,
        seconds=args.seconds,
        everybody=args.all,
        depth=args.depth,
        threshold_us=0 if args.summed or args.binary else args.threshold // 1000,
        options=tuple(args.options),
        events=tuple(args.events),
        retval=args.retval,
        everything=everything,
        buffer_kb=args.buffer_size or (SMALL_KB if everything else BUFFER_KB),
        keep=args.keep,
    )


def _tell_size(request: GraphRequest) -> None:
    """Before a large set of functions is armed: how many, and how often they are called now."""
    from probescope.collect.graph import functions
    from probescope.kernel import tracefs

    patterns = ("*",) if request.everything else request.only
    if request.binary or not patterns or "function_graph" not in tracefs.tracers():
        return
    expected = functions.expected(patterns, request.pids, taste=not request.command or request.everybody)
    if expected.functions >= functions.LARGE:
        tell(expected.text())


def _session(text: str, who: Who, sink: Sink) -> Session:
    """A program in the tracing language, which sends the calls of functions that are probed one by one."""
    from probescope import api

    request = api.Request(text, "graph", command=who.command, pid=who.pid, follow=who.follow, signals=who.signals)
    return api.build(request).session(sink)


def _opened(name: str | None) -> Any:
    if name is None or name == "-":
        return sys.stdout
    try:
        return open(name, "w", encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        raise UsageError(f"cannot write {name}: {e.strerror}") from None


def tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    tell(f"WARNING: {text}")
