"""``probescope top``: where the machine, or some processes, spend their time, while they do."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, how_many
from probescope.cli.perf_options import add_perf_options
from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.cli.top_live import Live
    from probescope.views.top.profile import View

EXAMPLES = """examples:
  probescope top                              functions of the whole machine
  probescope top -p 1234 -g                   of a process, with call graphs (Enter opens one)
  probescope top -e page-faults -s comm,dso   which programs fault, and where
  probescope top --stdio -d 5 --times 3       plain text, three times
keys on the screen: h or ? lists them
"""


def parser() -> Parser:
    p = Parser("top", "Sample the machine, or some processes, and show where time goes as it goes.", EXAMPLES)
    p.add_argument("-e", "--event", action="append", default=[], metavar="EVENTS", help="what to sample (cycles)")
    p.add_argument("--filter", metavar="EXPR", help="of the tracepoint")
    p.add_argument("-F", "--freq", metavar="HZ", help="samples a second (4000), or max")
    p.add_argument("-c", "--count", metavar="N", help="a sample every N events")
    p.add_argument("-a", "--all-cpus", action="store_true", help="the whole machine (as it is without -p, -t, -u)")
    p.add_argument("-p", "--pid", metavar="PID,...", help="these processes, with their threads")
    p.add_argument("-t", "--tid", metavar="TID,...", help="these threads")
    p.add_argument("-u", "--uid", metavar="USER", help="the processes of this user")
    p.add_argument("-C", "--cpu", metavar="LIST", help="these CPUs: 0,2-3")
    p.add_argument("--cgroup", metavar="NAME,...", help="of this cgroup alone")
    p.add_argument("-i", "--no-inherit", action="store_true", help="leave out children and new threads")
    p.add_argument("-m", "--mmap-pages", metavar="N", help="pages of each ring, 2^n, or a size: 1M")
    p.add_argument("-g", dest="stacks", action="store_true", help="call graphs")
    p.add_argument("--call-graph", metavar="HOW", help="call graphs: fp[,DEPTH], dwarf[,BYTES] or lbr")
    p.add_argument("--max-stack", type=how_many, metavar="N", help="only the innermost N functions of call graphs")
    p.add_argument("-G", "--inverted", action="store_true", help="call graphs from the innermost function")
    p.add_argument("--children", action="store_true", default=None, help="functions with what they call (with -g)")
    p.add_argument("--no-children", dest="children", action="store_false", help="own weights alone")
    p.add_argument("-s", "--sort", default="dso,symbol", metavar="KEYS", help="of comm, tid, tgid, dso, symbol, cpu")
    _shown(p)
    _code(p)
    add_perf_options(p, "top")
    return p


def _code(p: Parser) -> None:
    p.add_argument(
        "-M", "--disassembler-style", choices=("att", "intel"), default="att", help="of the key a: att, intel"
    )
    p.add_argument("--asm-raw", action="store_true", help="the bytes of instructions too")
    p.add_argument("--no-source", dest="source", action="store_false", help="no source lines between instructions")
    p.add_argument("-k", "--vmlinux", metavar="FILE", help="the kernel's code")


def _shown(p: Parser) -> None:
    p.add_argument("--comms", "--comm", default="", metavar="NAME", help="only of threads with this name")
    p.add_argument("--dsos", "--dso", default="", metavar="NAME", help="only in this file")
    p.add_argument("-K", "--hide-kernel", "--hide_kernel_symbols", action="store_true", help="without the kernel")
    p.add_argument("-U", "--hide-user", "--hide_user_symbols", action="store_true", help="without user space")
    p.add_argument("-d", "--delay", default="2", metavar="SECONDS", help="between looks (2)")
    p.add_argument("-z", "--zero", action="store_true", help="forget what was at each look, instead of fading it")
    p.add_argument("-E", "--entries", type=how_many, metavar="N", help="rows (as many as there is room for)")
    p.add_argument("-n", "--show-nr-samples", action="store_true", help="numbers of samples too")
    p.add_argument("--stdio", action="store_true", help="plain text, on any terminal or into a pipe")
    p.add_argument("--times", type=how_many, default=0, metavar="N", help="end after N looks")


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    view = _view(args)
    delay = _seconds(args.delay)
    screen = not args.stdio and sys.stdout.isatty() and sys.stdin.isatty() and _has_screen()
    from probescope.cli.top_live import Live

    live = Live(args, _wanted(args, argv), delay)
    try:
        if not screen:
            return _plain(live, view, args)
        from probescope.cli.top_screen import show

        return show(live, view, args)
    finally:
        live.close()


def _has_screen() -> bool:
    from importlib.util import find_spec

    if find_spec("textual") is not None:
        return True
    sys.stderr.write("HINT: pip install 'probescope[tui]' has a screen with keys for this\n")
    return False


def _wanted(args: Namespace, argv: list[str]) -> list[str]:
    """The same as words of ``record``."""
    out: list[str] = []
    for event in args.event:
        out += ["-e", event]
    same = ("filter", "freq", "count", "pid", "tid", "uid", "cpu", "mmap_pages", "call_graph", "cgroup")
    for option in same:
        value = getattr(args, option)
        if value is not None:
            out += [f"--{option.replace('_', '-')}", value]
    out += ["-a"] if args.all_cpus else []
    out += ["-g"] if args.stacks and not args.max_stack else []
    if args.max_stack and args.call_graph is None:
        out += ["--call-graph", f"fp,{args.max_stack}"]
    return out + (["-i"] if args.no_inherit else [])


def _view(args: Namespace) -> View:
    from probescope.views.reporting.keys import Key, parse_keys
    from probescope.views.top.profile import View

    keys = tuple(k for k in parse_keys(args.sort) if isinstance(k, Key))
    known = {"comm", "pid", "tid", "tgid", "dso", "symbol", "cpu"}
    for key in keys:
        if key.name not in known:
            raise UsageError(f"'{key.name}' is no key to sort by here", hints=["keys: " + ", ".join(sorted(known))])
    stacks = args.stacks or args.call_graph is not None or bool(args.max_stack)
    children = stacks if args.children is None else args.children and stacks
    order = "callee" if args.inverted or not children else "caller"
    if args.hide_kernel and args.hide_user:
        raise UsageError("nothing is left without the kernel and without user space", hints=["-K or -U alone"])
    hidden = "kernel" if args.hide_kernel else "user" if args.hide_user else ""
    return View(keys, children, order if stacks else "", comm=args.comms, module=args.dsos, hidden=hidden)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.05 <= found <= 3600:
        raise UsageError(f"'{text}' is no delay", hints=["-d 2: seconds between looks, from 0.05 on"])
    return found


def _plain(live: Live, view: View, args: Namespace) -> int:
    """Text, one look after the other; a terminal is cleared before each."""
    from probescope.kernel.signals import Signals
    from probescope.views.top.text import table

    terminal = sys.stdout.isatty()
    signals = Signals()
    looks = 0
    try:
        live.start()
        while not (signals.stop_asked and looks) and (not args.times or looks < args.times):
            live.gather(lambda: bool(signals.stop_asked))
            snapshot = live.snapshot(view, args.entries or _room(terminal))
            looks += 1
            out = ["\x1b[H\x1b[2J" if terminal else "", f"{live.about(snapshot, view)}\n\n"]
            out += table(snapshot, view, counts=args.show_nr_samples)
            sys.stdout.write("".join(out) + "\n")
            sys.stdout.flush()
            live.fade()
            if live.over:
                break
    finally:
        signals.close()
    return 0


def _room(terminal: bool) -> int:
    try:
        return max(os.get_terminal_size().lines - 5, 3) if terminal else 40
    except OSError:
        return 40
