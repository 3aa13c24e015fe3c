"""``probescope ftrace show``, ``snapshot``, ``stat``, ``mark``, ``stack``: what a trace that was started holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser, add_format
from probescope.errors import KernelError, UsageError

if TYPE_CHECKING:
    import argparse

ABOUT = {
    "show": "Print what the buffer of a trace holds, in the kernel's own words.",
    "snapshot": "Print, take or free a snapshot of the buffer.",
    "stat": "Show what was started: tracer, events, filters, how full buffers are.",
    "mark": "Write a line of your own into the trace.",
    "stack": "Print the deepest stack that the kernel has had since it was asked to watch.",
}
EXAMPLES = {
    "show": """examples:
  probescope ftrace show
  probescope ftrace show -p                     as it comes, out of the buffer
  probescope ftrace show -c 1 -B boot
  probescope ftrace show --current_tracer
""",
    "snapshot": """examples:
  probescope ftrace snapshot -s                 take one
  probescope ftrace snapshot                    print it
  probescope ftrace snapshot -f                 free its memory
""",
    "stat": "examples:\n  probescope ftrace stat\n  probescope ftrace stat -f json\n",
    "mark": """examples:
  probescope ftrace mark 'the slow part begins'
  probescope ftrace mark -B boot done
""",
    "stack": "examples:\n  probescope ftrace stack --start\n  probescope ftrace stack\n",
}
FILES = {
    "tracing_on": "tracing_on",
    "current_tracer": "current_tracer",
    "buffer_size": "buffer_size_kb",
    "buffer_total_size": "buffer_total_size_kb",
    "ftrace_filter": "set_ftrace_filter",
    "ftrace_notrace": "set_ftrace_notrace",
    "ftrace_pid": "set_ftrace_pid",
    "graph_function": "set_graph_function",
    "graph_notrace": "set_graph_notrace",
    "cpumask": "tracing_cpumask",
}
_PIECE = 1 << 16


def parser(command: str) -> Parser:
    p = Parser(f"ftrace {command}", ABOUT[command], EXAMPLES[command])
    if command != "stack":
        p.add_argument("-B", dest="buffer", default="", metavar="NAME", help="of this buffer, an instance of ftrace")
    if command in {"show", "stat"}:
        p.add_argument("-t", dest="top", action="store_true", help="of the top buffer, which is not ours")
    if command in {"show", "snapshot"}:
        p.add_argument("-c", dest="cpu", type=int, metavar="CPU", help="of this CPU only")
    if command == "show":
        p.add_argument("-p", dest="pipe", action="store_true", help="as it comes, taken out of the buffer")
        p.add_argument("-s", dest="snapshot", action="store_true", help="the snapshot")
        p.add_argument("-f", dest="path", action="store_true", help="say which file it is")
        for name, file in FILES.items():
            p.add_argument(f"--{name}", action="store_true", help=f"only what {file} says")
    elif command == "snapshot":
        p.add_argument("-s", dest="take", action="store_true", help="take one")
        p.add_argument("-r", dest="reset", action="store_true", help="empty it")
        p.add_argument("-f", dest="free", action="store_true", help="free its memory")
    elif command == "stat":
        p.add_argument("-o", dest="options", action="store_true", help="options too")
        add_format(p)
    elif command == "mark":
        p.add_argument("text", nargs="+", metavar="TEXT", help="what to write; a line")
    else:
        for name, about in (("start", "watch"), ("stop", "do not watch any more"), ("reset", "forget the deepest")):
            p.add_argument(f"--{name}", action="store_true", help=about)
    return p


def parse(command: str, argv: Sequence[str]) -> argparse.Namespace:
    return parser(command).parse_args(list(argv))


def main(command: str, argv: list[str]) -> int:
    args = parse(command, argv)
    return {"show": _show, "snapshot": _snapshot, "stat": _stat, "mark": _mark, "stack": _stack}[command](args)


def _base(args: argparse.Namespace) -> str:
    """The folder of the buffer that is meant. Raises UsageError, SessionError."""
    from probescope.collect.ftrace.standing import nothing_started
    from probescope.kernel import trace_text, tracefs
    from probescope.kernel.started import OWN, all_started

    if getattr(args, "top", False):
        return tracefs.find_root()
    started = {one.instance: one.base for one in all_started()}
    if not args.buffer:
        if not started:
            raise nothing_started()
        return started.get(OWN) or next(iter(started.values()))
    known = trace_text.instances()
    if args.buffer not in known:
        hints = [f"there are {', '.join(known)}" if known else "there is none"]
        raise UsageError(f"there is no buffer {args.buffer}", hints=hints)
    return started.get(args.buffer) or f"{tracefs.find_root()}/instances/{args.buffer}"


def _show(args: argparse.Namespace) -> int:
    from probescope.cli.terminal import write_text
    from probescope.collect.ftrace.refusals import no_snapshots
    from probescope.kernel import tracefs
    from probescope.kernel.host import host

    if args.pipe and args.snapshot:
        raise UsageError("-p and -s: one of them")
    base = _base(args)
    for name, file in FILES.items():
        if getattr(args, name):
            write_text(tracefs.read(file, base))
            return 0
    file = "trace_pipe" if args.pipe else "snapshot" if args.snapshot else "trace"
    if file == "snapshot" and not host().exists(f"{base}/snapshot"):
        raise no_snapshots()
    return _copied(_of_cpu(file, args.cpu, base), base, say=args.path)


def _of_cpu(file: str, cpu: int | None, base: str) -> str:
    """The file of this CPU. Raises UsageError where there is no such CPU."""
    from probescope.kernel.host import host
    from probescope.kernel.machine import possible_cpus

    if cpu is None:
        return file
    if cpu < 0 or not host().exists(f"{base}/per_cpu/cpu{cpu}"):
        raise UsageError(f"there is no CPU {cpu}", hints=[f"CPUs of this machine: 0 to {possible_cpus()[-1]}"])
    return f"per_cpu/cpu{cpu}/{file}"


def _copied(file: str, base: str, *, say: bool = False) -> int:
    from probescope.cli.terminal import recorded_out
    from probescope.kernel import trace_text

    if say:
        sys.stdout.write(f"{base}/{file}\n")
    out = recorded_out()
    for piece in trace_text.pieces(file, base, _PIECE):
        out(piece)
        sys.stdout.buffer.flush()
    return 0


def _snapshot(args: argparse.Namespace) -> int:
    from probescope.collect.ftrace.refusals import no_snapshots
    from probescope.kernel import tracefs

    base = _base(args)
    file = _of_cpu("snapshot", args.cpu, base)
    what = [text for asked, text in ((args.take, "1"), (args.reset, "2"), (args.free, "0")) if asked]
    if len(what) > 1:
        raise UsageError("-s, -r and -f: one of them")
    try:
        if not what:
            return _copied(file, base)
        tracefs.write(file, what[0], base)
    except KernelError as e:
        if e.errno_name == "ENOENT":
            raise no_snapshots() from None
        raise
    return 0


def _mark(args: argparse.Namespace) -> int:
    from probescope.kernel.marker import mark

    mark(" ".join(args.text), args.buffer)
    return 0


# --- what there is


def _stat(args: argparse.Namespace) -> int:
    from probescope.collect.ftrace.status import status
    from probescope.kernel import tracefs
    from probescope.kernel.started import all_started

    tracefs.find_root()  # who may not see it is told so
    bases = [_base(args)] if args.buffer or args.top else [one.base for one in all_started()]
    found = [status(base, options=args.options) for base in bases]
    if args.format == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    sys.stdout.write("".join(_told(one) for one in found) or "nothing was started: probescope ftrace start -e EVENT\n")
    return 0


def _told(s: dict[str, Any]) -> str:
    out = [f"{s['buffer'] or 'the top buffer'}: {'on' if s['on'] else 'off'}, tracer {s['tracer']}"]
    out.append(f"  buffer  {s['size_kb']} KB a CPU, clock {s['clock']}")
    for name, value in s["limits"].items():
        out.append(f"  {name}  {value if isinstance(value, str) else ', '.join(value)}")
    for event in s["events"]:
        more = [f"if {event['filter']}" if event["filter"] else "", *event["triggers"]]
        out.append(f"  {event['name']}  {'; '.join(m for m in more if m)}".rstrip())
    for cpu in s["cpus"]:
        lost = f", {cpu['lost']:,} lost" if cpu["lost"] else ""
        out.append(f"  CPU {cpu['cpu']}  {cpu['entries']:,} events, {cpu['bytes']:,} bytes{lost}")
    if s.get("options"):
        out.append("  options  " + " ".join(s["options"]))
    return "\n".join(out) + "\n"


def _stack(args: argparse.Namespace) -> int:
    from probescope.kernel import stack_tracer

    if args.start or args.stop:
        stack_tracer.switch(on=args.start)
    elif args.reset:
        stack_tracer.forget()
    else:
        sys.stdout.write(stack_tracer.deepest())
    return 0
