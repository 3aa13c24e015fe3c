"""``probescope record``: record events into perf.data, with perf record's options and meanings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser
from probescope.cli.perf_options import add_perf_options

if TYPE_CHECKING:
    from probescope.collect.recorder.request import Recorded, RecordRequest

EXAMPLES = """examples:
  probescope record -g -- ls                                      where a command spends its time
  probescope record -F 99 -ag -- sleep 5                          the whole machine, 99 times a second
  probescope record -e 'sched:*' -p $$ -- sleep 1                 a process, while the command runs; or until ^C
  probescope record -e raw_syscalls:sys_enter --filter 'id == 0' -a -- sleep 1
  probescope record --call-graph dwarf -z -- ls                   stacks without frame pointers, compressed
  probescope record --off-cpu -g -- ls                            what it waits for, too
  probescope record -a --overwrite -e 'sched:*' -- sleep 5        the last moments; with --switch-output at each SIGUSR2
then: probescope report, script, flame; or perf's own
"""
_IGNORED = (
    "--num-thread-synthesize", "--proc-map-timeout", "--mmap-flush", "--aio", "--affinity", "--timestamp-boundary",
    "--sample-identifier", "--no-buildid-cache", "--group-legacy",
)  # fmt: skip


class _Ordered(argparse.Action):
    """``-e``, ``--filter``, ``--exclude-perf`` and ``-G`` mean what stands before them."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.ordered = [*(getattr(namespace, "ordered", None) or []), (self.dest, values)]


def parser() -> Parser:
    p = Parser("record", "Record events of a command, of tasks, of CPUs or of the machine into perf.data.", EXAMPLES)
    p.set_defaults(ordered=[])
    p.add_argument("command", nargs="*", metavar="COMMAND", help="what to run, and its arguments")
    _what(p)
    _whom(p)
    _how(p)
    _more(p)
    _where(p)
    add_perf_options(p, "record")
    return p


def _what(p: Parser) -> None:
    p.add_argument("-e", "--event", action=_Ordered, metavar="EVENTS", help="what to record (perf's grammar)")
    p.add_argument("--filter", action=_Ordered, metavar="EXPR", help="of the tracepoint before it")
    p.add_argument("--exclude-perf", action=_Ordered, nargs=0, help="leave out what probescope itself causes")
    p.add_argument("-F", "--freq", metavar="HZ", help="samples a second (default 4000), or max")
    p.add_argument("--strict-freq", action="store_true", help="fail where the kernel does not allow that many")
    p.add_argument("-c", "--count", metavar="N", help="a sample every N events")
    p.add_argument("-n", "--no-samples", action="store_true", help="no samples, only what tells of tasks")
    p.add_argument("--group", action="store_true", help="all events as one group")
    p.add_argument("--all-user", action="store_true", help="only what happens in user space")
    p.add_argument("--all-kernel", action="store_true", help="only what happens in the kernel")


def _whom(p: Parser) -> None:
    p.add_argument("-a", "--all-cpus", action="store_true", help="the whole machine")
    p.add_argument("-C", "--cpu", metavar="LIST", help="these CPUs: 0,2-3")
    p.add_argument("-p", "--pid", metavar="PID,...", help="these processes, with their threads")
    p.add_argument("-t", "--tid", metavar="TID,...", help="these threads")
    p.add_argument("-u", "--uid", metavar="USER", help="the processes of this user")
    p.add_argument("-G", "--cgroup", action=_Ordered, metavar="NAME,...", help="of this cgroup alone (with -a or -C)")
    p.add_argument("-i", "--no-inherit", action="store_true", help="leave out children and new threads")
    p.add_argument("--inherit", action="store_true", help="of threads given by -t too")
    p.add_argument("--per-thread", action="store_true", help="a ring for each thread, whatever CPU it is on")
    p.add_argument("-D", "--delay", metavar="MS", help="begin MS milliseconds after the start; -1: with --control")


def _how(p: Parser) -> None:
    p.add_argument("-g", dest="stacks", action="store_true", help="call stacks, by frame pointers")
    p.add_argument("--call-graph", metavar="HOW", help="call stacks: fp[,DEPTH], dwarf[,BYTES] or lbr")
    p.add_argument("--kernel-callchains", action="store_true", help="stacks of the kernel alone")
    p.add_argument("--user-callchains", action="store_true", help="stacks of user space alone")
    p.add_argument("-d", "--data", action="store_true", help="addresses of data")
    p.add_argument("--phys-data", action="store_true", help="physical addresses of data")
    p.add_argument("--data-page-size", action="store_true", help="sizes of the pages of data")
    p.add_argument("--code-page-size", action="store_true", help="sizes of the pages of code")
    p.add_argument("-T", "--timestamp", action="store_true", help="times (they are always there)")
    p.add_argument("-P", "--period", action="store_true", help="the period of each sample")
    p.add_argument("--sample-cpu", action="store_true", help="the CPU of each sample")
    p.add_argument("-R", "--raw-samples", action="store_true", help="raw records (of tracepoints always)")
    p.add_argument("-W", "--weight", action="store_true", help="weights of samples")
    p.add_argument("--transaction", action="store_true", help="transactions (TSX) that samples are in")
    p.add_argument("--running-time", action="store_true", help="with {a,b}:S: for how long each was counted")
    p.add_argument("-s", "--stat", action="store_true", help="counts of each thread, as it ends")
    p.add_argument("-I", "--intr-regs", metavar="REG,...", help="registers when the sample was taken (default: all)")
    p.add_argument("--user-regs", metavar="REG,...", help="registers of user space (default: all)")
    p.add_argument("-b", "--branch-any", action="store_true", help="taken branches, where the CPU keeps them")
    p.add_argument("-j", "--branch-filter", metavar="KIND,...", help="taken branches of some kinds: any_call,u")
    p.add_argument(
        "-k", "--clockid", metavar="CLOCK", help="times of this clock: monotonic, monotonic_raw, boottime..."
    )


def _more(p: Parser) -> None:
    p.add_argument("--off-cpu", action="store_true", help="how long threads wait, by stack: an event offcpu-time")
    p.add_argument("--switch-events", action="store_true", help="context switches")
    p.add_argument("--namespaces", action="store_true", help="namespaces of tasks")
    p.add_argument("--all-cgroups", action="store_true", help="cgroups, and of each sample its own")
    p.add_argument("-m", "--mmap-pages", metavar="N", help="pages of each ring, 2^n, or a size: 1M")
    p.add_argument("--no-buffering", action="store_true", help="write each event at once")
    p.add_argument("-r", "--realtime", metavar="PRIORITY", help="record with this SCHED_FIFO priority")
    p.add_argument("--overwrite", action="store_true", help="rings overwrite what is old: the last moments are kept")
    p.add_argument("--tail-synthesize", action="store_true", help="tell of tasks as they are at the end")
    p.add_argument("--synth", metavar="KIND,...", help="what to tell of that was there: task, mmap, cgroup, all, no")
    p.add_argument(
        "--control", metavar="fd:CTL[,ACK]|fifo:...", help="take commands: enable, disable, snapshot, stop, ping"
    )
    p.add_argument("--no-bpf-event", action="store_true", help="nothing about BPF programs that come and go")
    p.add_argument("--threads", nargs="?", const="", metavar="SPEC", help="(rings are read by one thread)")
    p.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    p.add_argument("-v", "--verbose", action="count", default=0, help="say what is opened")
    p.add_argument("--dry-run", action="store_true", help="only see whether this makes sense")
    for name in _IGNORED[:5]:
        p.add_argument(name, metavar="X", help=argparse.SUPPRESS)
    for name in _IGNORED[5:7]:
        p.add_argument(name, action="store_true", help=argparse.SUPPRESS)


def _where(p: Parser) -> None:
    p.add_argument("-o", "--output", metavar="FILE", help="to this file (perf.data); -: to stdout")
    p.add_argument("-z", "--compression-level", metavar="LEVEL", help="compress by zstd (default level 1)")
    p.add_argument("--max-size", metavar="SIZE", help="end when there is so much: 100M")
    p.add_argument(
        "--switch-output", metavar="WHEN", help="another file at each SIGUSR2, or after a size or time: 1G, 30s"
    )
    p.add_argument("--switch-output-event", metavar="EVENT", help="another file each time that this happens")
    p.add_argument("--switch-max-files", metavar="N", help="keep the last N of them")
    p.add_argument("--timestamp-filename", action="store_true", help="put the time behind the file's name")
    p.add_argument("-B", "--no-buildid", action="store_true", help="no build-ids, no symbols")
    p.add_argument("-N", "--no-buildid-cache", action="store_true", help="(there is no such cache)")
    p.add_argument("--buildid-all", action="store_true", help="build-ids of all mapped files, not only of those hit")
    p.add_argument("--buildid-mmap", action="store_true", help="build-ids in the records of mappings")
    p.add_argument("--no-symbols", action="store_true", help="save no symbols beside the file")


#: Options whose value, if any, is written with them: -z3, --switch-output=1G.
OPTIONAL = {
    "-z": "1",
    "--compression-level": "1",
    "-I": "",
    "--intr-regs": "",
    "--user-regs": "",
    "--switch-output": "signal",
    "--aio": "1",
    "--threads": "",
}


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Options end where the command begins: those behind it are its own."""
    p = parser()
    values = {o for a in p._actions if a.nargs is None and a.option_strings for o in a.option_strings}
    options: list[str] = []
    i = 0
    while i < len(argv) and argv[i].startswith("-") and argv[i] not in ("--", "-"):
        word = argv[i]
        i += 1
        if word in OPTIONAL:
            word = f"{word}={OPTIONAL[word]}" if word.startswith("--") else word + OPTIONAL[word]
            options += [word] if word != "-I" else ["--intr-regs="]
            continue
        if word[:1] == "-" and word[1:2] != "-" and len(word) > 2 and _ends_bundle(word, values):
            options.append(word[:-1])
            word = word[-1]
            options += ["--intr-regs="] if word == "I" else [f"-{word}{OPTIONAL[f'-{word}']}"]
            continue
        options.append(word)
        if _wants_more(word, values) and i < len(argv):
            options.append(argv[i])
            i += 1
    rest = list(argv[i:])
    args = p.parse_args(options)
    args.command = rest[1:] if rest[:1] == ["--"] else rest
    return args


def _ends_bundle(word: str, values: set[str]) -> bool:
    """``-gz``: the last letter's value may be left out, and those before it take none."""
    return f"-{word[-1]}" in OPTIONAL and not any(f"-{x}" in values for x in word[1:-1])


def _wants_more(word: str, values: set[str]) -> bool:
    """``-e``, ``--event`` and ``-age``; not ``-F99`` or ``--event=cycles``."""
    if word.startswith("--"):
        return word in values
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" in OPTIONAL:
            return False
        if f"-{letter}" in values:
            return at == len(word) - 1
    return False


def main(argv: list[str]) -> int:
    from probescope.cli.record_request import request

    args = parse_arguments(argv)

    def say(text: str) -> None:
        if not args.quiet:
            _say(text)

    _told_of_options(args, say)
    asked = request(args, argv, say)
    if args.dry_run:
        return 0
    return _recorded(args, asked)


def _told_of_options(args: argparse.Namespace, say: Callable[[str], None]) -> None:
    if args.threads is not None:
        say("--threads: one thread reads all rings, another writes where much comes: there is nothing to choose")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _recorded(args: argparse.Namespace, asked: RecordRequest) -> int:
    from probescope.collect.recorder.session import record

    def say(note: str) -> None:
        if not args.quiet:
            _say(f"[ probescope record: {note} ]")

    try:
        done = record(asked, say)
    except OSError as e:
        e.filename = e.filename or (asked.output if asked.output != "-" else None)
        raise
    if not args.quiet:
        for line in told(args, asked, done):
            _say(line)
    return 128 + done.signal if done.signal else done.exit_code


def told(args: argparse.Namespace, asked: RecordRequest, done: Recorded) -> list[str]:
    """The closing lines."""
    out = []
    if done.limit:
        out.append("[ probescope record: size limit reached, stopping ]")
    out.append(f"[ probescope record: Woken up {done.woken} times to write data ]")
    for one in done.files:
        samples = f" ({one.samples} samples)" if one.samples >= 0 else ""
        name = "to standard output" if asked.output == "-" else one.path
        out.append(f"[ probescope record: Captured and wrote {one.size / (1 << 20):.3f} MB {name}{samples} ]")
    if done.lost:
        more = f"-m {max(done.pages * 4, 16)}"
        out.append(f"[ probescope record: {done.lost} samples were lost: {more} gives them more room ]")
    return out
