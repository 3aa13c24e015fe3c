"""``probescope stat``: count events, with perf stat's options, columns and meanings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from probescope.cli.numbers import whole
from probescope.cli.parsing import Parser, command_words, cpu_list, process_id
from probescope.cli.perf_options import add_perf_options
from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.collect.stat import StatRequest
    from probescope.sources.perf_events import Counter

EXAMPLES = """examples:
  probescope stat -- ls                                    what a command does
  probescope stat -a -I 1000 --timeout 3000                the whole machine, a line a second
  probescope stat -e 'sched:sched_switch,page-faults' -a -- sleep 1
  probescope stat -e '{cycles,instructions}:u' -r 5 -- ls  five runs, their mean and its deviation
  probescope stat -a -A -e context-switches --timeout 100  each CPU apart
  probescope stat -x, -e task-clock -- ls                  CSV; -j for JSON
"""
DEFAULT = (
    "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses",
    "L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
    "L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
    "L1-dcache-prefetches,L1-dcache-prefetch-misses",
)


class _Filter(argparse.Action):
    """With the number of the ``-e`` that stands before it, from 1."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.filter = [*namespace.filter, (len(namespace.event), values)]


def parser() -> Parser:
    p = Parser("stat", "Count events of a command, of processes, of CPUs or of the whole machine.", EXAMPLES)
    p.add_argument("command", nargs="*", metavar="COMMAND", help="what to run, and its arguments")
    p.add_argument(
        "-e", "--event", action="append", default=[], metavar="EVENTS", help="what to count (perf's grammar)"
    )
    p.add_argument("--filter", action=_Filter, default=[], metavar="EXPR", help="of the tracepoints before it")
    p.add_argument("-a", "--all-cpus", action="store_true", help="the whole machine")
    p.add_argument("-C", "--cpu", metavar="LIST", help="these CPUs: 0,2-3")
    p.add_argument("-p", "--pid", metavar="PID,...", help="these processes, with their threads")
    p.add_argument("-t", "--tid", metavar="TID,...", help="these threads")
    p.add_argument("-r", "--repeat", type=_number, default=1, metavar="N", help="run it N times: mean and deviation")
    p.add_argument("-I", "--interval-print", type=_number, default=0, metavar="MS", help="print every MS milliseconds")
    p.add_argument("--interval-count", type=_number, default=0, metavar="N", help="end after N intervals")
    p.add_argument("--timeout", type=_number, default=0, metavar="MS", help="end after MS milliseconds")
    p.add_argument(
        "-D", "--delay", type=_delay, default=0, metavar="MS", help="begin MS ms after the start; -1: with --control"
    )
    p.add_argument(
        "--control", default="", metavar="fd:CTL[,ACK]|fifo:...", help="take commands: enable, disable, stop"
    )
    p.add_argument("-d", "--detailed", action="count", default=0, help="caches too; twice and thrice for more")
    p.add_argument("-i", "--no-inherit", action="store_true", help="leave out children and new threads")
    p.add_argument("-A", "--no-aggr", action="store_true", help="each CPU apart")
    for name in ("core", "die", "socket", "node", "thread"):
        p.add_argument(f"--per-{name}", dest="per", action="store_const", const=name, help=f"each {name} apart")
    p.add_argument("-G", "--cgroup", metavar="PATH", help="of this cgroup alone (with -a or -C)")
    p.add_argument("--for-each-cgroup", metavar="PATH,...", help="of each of these apart (with -a or -C)")
    p.add_argument("-x", "--field-separator", metavar="SEP", help="CSV with this separator")
    p.add_argument("-j", "--json-output", "--json", action="store_true", help="an object a line")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default), or json, as -j")
    p.add_argument("-o", "--output", metavar="FILE", help="to a file, not to stderr")
    p.add_argument("--append", action="store_true", help="add to the file of -o")
    p.add_argument("-n", "--null", action="store_true", help="count nothing: only times")
    p.add_argument("-v", "--verbose", action="store_true", help="say why an event is not supported")
    _besides(p)
    add_perf_options(p, "stat")
    return p


def _besides(p: Parser) -> None:
    p.add_argument("-g", "--group", action="store_true", help="all events as one group")
    p.add_argument("--all-user", action="store_true", help="only what happens in user space")
    p.add_argument("--all-kernel", action="store_true", help="only what happens in the kernel")
    p.add_argument("-M", "--metrics", metavar="LIST", help="what these metrics are made of: IPC, CPI, TopdownL1")
    p.add_argument("-T", "--transaction", action="store_true", help="transactions (TSX), where the CPU counts them")
    p.add_argument("--topdown", action="store_true", help="what slots of the CPU's pipeline were used for")
    p.add_argument("--td-level", type=int, default=0, metavar="N", help="of --topdown: 1 is what there is")
    p.add_argument("--metric-only", action="store_true", help="only what is worked out of counts, a column each")
    p.add_argument("--table", action="store_true", help="with -r: how long each run took")
    p.add_argument(
        "--percore-show-thread", action="store_true", help="with -A: counts of cores (cpu/.../percore) for each CPU"
    )
    p.add_argument("-S", "--sync", action="store_true", help="sync(2) before each run")
    p.add_argument("--pre", metavar="COMMAND", help="for the shell, before each run")
    p.add_argument("--post", metavar="COMMAND", help="for the shell, after each run")
    p.add_argument("--summary", action="store_true", help="with -I: sums at the end")
    p.add_argument("--no-csv-summary", action="store_true", help="with -x: sums without the word summary before them")
    p.add_argument("--interval-clear", action="store_true", help="with -I: clear the screen before each")
    p.add_argument("-B", "--big-num", action="store_true", help="thousands apart, as the locale has it (so it is)")
    p.add_argument("--no-big-num", action="store_true", help="digits alone")
    p.add_argument("--log-fd", type=_number, metavar="FD", help="to this descriptor, not to stderr")
    p.add_argument("-q", "--quiet", action="store_true", help="print nothing")


def _delay(text: str) -> int:
    return -1 if text == "-1" else _number(text)


def _number(text: str) -> int:
    number = whole(text, 1)
    if number is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return number


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """Options end where the command begins: those behind it are its own."""
    p = parser()
    takes_value = {o for a in p._actions if a.nargs is None and a.option_strings for o in a.option_strings}
    i = 0
    while i < len(argv) and argv[i].startswith("-") and argv[i] != "--":
        i += 2 if argv[i] in takes_value else 1
    rest = argv[i + 1 :] if argv[i : i + 1] == ["--"] else argv[i:]
    args = p.parse_args(argv[:i])
    args.command = rest
    return args


def main(argv: list[str]) -> int:
    args = parse_arguments(argv)
    request = _request(args)
    out = _opened(args)
    try:
        return _counted(args, request, out)
    finally:
        out.flush()
        if out is not sys.stderr:
            out.close()


# --- what is asked


def _request(args: argparse.Namespace) -> StatRequest:
    from probescope.collect.stat import StatRequest
    from probescope.kernel.machine import online_cpus

    pids, tids = _ids(args.pid), _ids(args.tid)
    cpus = _cpus(args.cpu) if args.cpu else ()
    anybody = not (pids or tids or args.command or cpus)
    if args.all_cpus or (anybody and (args.interval_print or args.timeout or args.event)) or (args.per and not cpus):
        cpus = () if (pids or tids) else tuple(online_cpus())
    if anybody and not cpus:
        raise UsageError("there is nothing to count", hints=["probescope stat -- COMMAND, -p PID, or -a", *_help()])
    cgroups = tuple(w for w in (args.for_each_cgroup or args.cgroup or "").split(",") if w)
    if cgroups and not cpus:
        raise UsageError("cgroups are counted on CPUs", hints=["add -a or -C LIST"])
    if args.interval_print and args.repeat > 1:
        raise UsageError("-I and -r cannot both be given")
    _fits(args)
    timeout = args.timeout or args.interval_print * args.interval_count
    return StatRequest(
        () if args.null else _counters(args),
        cpus,
        pids,
        tids,
        command_words(args.command, "stat"),
        cgroups,
        args.interval_print,
        args.delay,
        timeout,
        not args.no_inherit,
        args.control,
    )


def _fits(args: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together, as perf does."""
    if args.metric_only and args.repeat > 1:
        raise UsageError("--metric-only is not for several runs (-r)")
    if args.metric_only and args.per == "thread":
        raise UsageError("--metric-only is not for single threads (--per-thread)")
    if args.table and args.repeat < 2:
        raise UsageError("--table is of several runs", hints=["-r N runs a command N times"])
    if args.td_level > 1:
        raise UsageError(f"--td-level {args.td_level}: only level 1 of --topdown is known here")


def _help() -> list[str]:
    return ["probescope stat --help says what there is"]


def _counters(args: argparse.Namespace) -> tuple[Counter, ...]:
    from probescope.cli.stat_metrics import levelled, metric_events, permitted, transactions
    from probescope.frozen import replace
    from probescope.lang.perf.events import parse_events
    from probescope.sources.perf_events import resolve_events

    texts = [*args.event, *metric_events(args.metrics or "", topdown=args.topdown), *transactions(args.transaction)]
    texts = texts or [",".join(DEFAULT[: args.detailed + 1])]
    out: list[Counter] = []
    if any(at == 0 for at, _ in args.filter):
        raise UsageError("a filter belongs to a tracepoint", hints=[_FILTER])
    for number, text in enumerate(texts, 1):
        base = len(out)
        found = _filtered(resolve_events(parse_events(text), text), [f for at, f in args.filter if at == number])
        out += [replace(c, leader=c.leader + base) if c.leader >= 0 else c for c in found]
    if args.group:
        out = [replace(c, leader=0) for c in out]
    return tuple(permitted([*levelled(out, "user" if args.all_user else "kernel" if args.all_kernel else "")]))


_FILTER = "-e SYSTEM:EVENT --filter 'FIELD == VALUE'"


def _filtered(counters: Sequence[Counter], filters: Sequence[str]) -> Sequence[Counter]:
    """Several are ANDed, as with perf."""
    from probescope.frozen import replace
    from probescope.kernel.uapi import perf as u

    if not filters:
        return counters
    if any(c.attr.type != u.PERF_TYPE_TRACEPOINT for c in counters):
        raise UsageError("a filter belongs to a tracepoint", hints=[_FILTER])
    text = " && ".join(f"({f})" for f in filters) if len(filters) > 1 else filters[0]
    return [replace(c, filter=text) for c in counters]


def _ids(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(process_id(w) for w in text.split(",")) if text else ()
    except argparse.ArgumentTypeError as e:
        raise UsageError(str(e)) from None


def _cpus(text: str) -> tuple[int, ...]:
    from probescope.kernel.machine import online_cpus

    wanted, online = cpu_list(text), online_cpus()
    absent = [c for c in wanted if c not in online]
    if absent or not wanted:
        raise UsageError(f"there is no CPU {absent[0] if absent else text}", hints=[f"online: {_ranges(online)}"])
    return tuple(wanted)


def _ranges(cpus: Sequence[int]) -> str:
    return f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else str(cpus[0])


def _opened(args: argparse.Namespace) -> TextIO:
    if args.quiet:
        return open(os.devnull, "w", encoding="utf-8")
    if not args.output and not args.log_fd:
        return sys.stderr
    try:
        if args.log_fd:
            return open(args.log_fd, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
        return open(args.output, "a" if args.append else "w", encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        name = args.output or f"to the descriptor {args.log_fd}"
        raise UsageError(f"cannot write {name}: {e.strerror}") from e


# --- what is said


def _counted(args: argparse.Namespace, request: StatRequest, out: TextIO) -> int:
    from probescope.cli.stat_shown import Shown
    from probescope.collect.stat import run

    show = Shown(args, request, out)
    code, interrupted = 0, False
    for _ in range(args.repeat):
        _around(args.pre, sync=args.sync)
        for snapshot in run(request):
            if request.interval_ms:
                show.interval(snapshot)
            elif snapshot.final:
                show.keep(snapshot)
            code, interrupted = snapshot.exit_code, snapshot.interrupted
        _around(args.post)
        if interrupted and not args.command:
            break
    show.end()
    return code


def _around(command: str | None, *, sync: bool = False) -> None:
    """Raises UsageError where it fails."""
    if command:
        from probescope.kernel.shell import call_shell

        code = call_shell(command)
        if code:
            raise UsageError(f"'{command}' ended with {code}")
    if sync:
        os.sync()
