"""``probescope export --html``: the timeline as one file."""

from __future__ import annotations

import argparse
import os
import re
import sys

from probescope.errors import UsageError

_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}


def size_of(text: str) -> int:
    """Bytes. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)\s*([KMG]?)i?B?", text, re.IGNORECASE)
    if not found:
        raise UsageError(f"--size {text}: this is no size", hints=["--size 20MB"])
    return int(float(found[1]) * _UNITS[found[2].upper()])


def main(args: argparse.Namespace) -> int:
    from probescope.cli.outfile import OutFile

    size = size_of(args.size)
    for option in ("to", "event", "comms", "pid", "tid", "cpu", "time", "by"):
        if getattr(args, option):
            name = {"comms": "comm"}.get(option, option)
            hints = ["probescope export -o part.data --time ... makes a part of perf.data, which --html then shows"]
            raise UsageError(f"--html shows the whole recording: --{name} does not go with it", hints=hints)
    if args.file == "-":
        raise UsageError("a recording is read from a file", hints=["cat > FILE, then probescope export --html FILE"])
    if args.output == "-" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal", hints=["-o report.html"])
    data, cut = _made(args, size)
    with OutFile(args.output) as out:
        out.file.write(data)
    if not args.quiet:
        if cut:
            sys.stderr.write(f"NOTE: {cut}\nHINT: --size {_more(args.size)} leaves room for more\n")
        if args.output != "-":
            sys.stderr.write(f"wrote {args.output} ({len(data):,} bytes)\n")
    return 0


def _more(size: str) -> str:
    return f"{size_of(size) * 5 // 1000**2}MB"


def _made(args: argparse.Namespace, size: int) -> tuple[bytes, str]:
    from probescope.cli.progress import Progress
    from probescope.cli.symbols import plain_search
    from probescope.store.opening import Asked
    from probescope.views.timeline.files import one_file_page
    from probescope.views.timeline.one_file import one_file
    from probescope.views.timeline.opened import Opened

    page = one_file_page()
    progress = Progress(os.path.basename(args.file))
    step = (lambda *_: None) if args.quiet else progress
    try:
        with Opened(Asked([(args.file, 0)], step=step, search=plain_search)) as opened:
            return one_file(opened, page, size, step)
    finally:
        progress.close()
