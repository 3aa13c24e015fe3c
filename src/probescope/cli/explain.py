"""``probescope explain``: which tool to use for a probe or a program, and why."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.parsing import Parser, add_format, process_id
from probescope.model.visible import visible_in_color

if TYPE_CHECKING:
    import argparse

    from probescope.collect.measure import Measured
    from probescope.plan.explain_rows import Facts
    from probescope.plan.explanation import Explained

EXAMPLES = """examples:
  probescope explain tracepoint:syscalls:sys_enter_openat
  probescope explain openat                       a bare word: every probe of that name, and the tool for each
  probescope explain kprobe:vfs_read              also what works instead, where it cannot be used
  probescope explain 'uprobe:/bin/bash:read*'     globs are summed up
  probescope explain -e 'profile:hz:99 { @[kstack] = count(); }'
  probescope explain --via perf -e 'tracepoint:sched:sched_switch /args.prev_prio > 20/ { @ = count(); }'
  probescope explain --measure tracepoint:sched:sched_switch
  probescope explain --measure                    what a hit costs here, for every mechanism
"""


def parser() -> Parser:
    p = Parser(
        "explain",
        "Which mechanism would serve a probe or a program on this machine and why, which others could, what a hit"
        " costs, the kernel steps, and the same with perf, trace-cmd and bpftrace.",
        EXAMPLES,
        usage="probescope explain [OPTIONS] [PROBE ... | WORD | -e PROGRAM | FILE [PARAM ...]]",
    )
    p.add_argument(
        "what", nargs="*", metavar="PROBE", help="probes, a word of their names, or a script with parameters"
    )
    p.add_argument("-e", dest="program", metavar="PROGRAM", help="a whole program")
    about = "perf: on samples of perf events; ftrace: on records of its buffers"
    p.add_argument("--via", choices=("auto", "perf", "ftrace"), default="auto", help=about)
    p.add_argument("-i", "--input", default="", metavar="FILE", help="from a recording: perf.data or trace.dat")
    p.add_argument("-p", "--pid", type=process_id, default=0, help="for this process alone")
    add_format(p)
    p.add_argument(
        "--measure", action="store_true", help="measure costs on this machine first (2 s; kept until it boots)"
    )
    p.add_argument("-v", "--verbose", action="store_true", help="every step and every site, however many")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_intermixed_args(argv)
    if not args.what and args.program is None and not args.measure:
        from probescope.errors import UsageError

        hints = ["probescope explain tracepoint:syscalls:sys_enter_openat", "probescope explain --help"]
        raise UsageError("there is nothing to explain", hints=hints)
    if args.via != "auto" or args.input:
        return _stream(args)
    measured = _measure() if args.measure else None
    if not args.what and args.program is None:
        assert measured is not None
        if not measured.costs:
            raise _nothing_measured(measured)
        return _costs(measured, as_json=args.format == "json")
    from probescope import inquiry
    from probescope.plan.costs import Costs

    if measured is not None and not measured.costs:
        sys.stderr.write(f"WARNING: {_nothing_measured(measured)}\n")
    known = inquiry.facts(pid=args.pid, costs=Costs(measured.costs) if measured else None)
    found = list(_answers(args, known))
    if args.format == "json":
        _json(found, known)
    else:
        from probescope.cli.explain_text import text

        told = text(found, known, verbose=args.verbose)
        sys.stdout.write(visible_in_color(told) if sys.stdout.isatty() else told)
    return 0


def _stream(args: argparse.Namespace) -> int:
    """A probe alone is explained as the program that counts it."""
    from probescope.api import Request
    from probescope.cli import explain_stream

    found = _script(args) if args.what or args.program is not None else None
    name, source, parameters = found or ("stdin", ", ".join(args.what) + " { @ = count(); }", [])
    request = Request(
        source, name=name, parameters=tuple(parameters), pid=args.pid, unsafe=True, via=args.via, input=args.input
    )
    return explain_stream.show(request, as_json=args.format == "json")


Answer = tuple[str, bool, "Explained"]
"""What was asked, whether it was a program, and the answer."""


def _answers(args: argparse.Namespace, known: Facts) -> Sequence[Answer]:
    from probescope import inquiry

    script = _script(args)
    if script is not None:
        from probescope.api import Request

        name, source, parameters = script
        request = Request(source, name=name, parameters=tuple(parameters), pid=args.pid, unsafe=True, attaches=False)
        command = f"bpftrace {name}" if name != "stdin" else ""
        return [(name, True, inquiry.explain_script(request, known, command))]
    out: list[Answer] = []
    for what in (w for words in args.what for w in _apart(words)):
        if inquiry.is_word(what):
            out += _word(what, known)
        else:
            out += [(what, False, e) for e in inquiry.explain_point(what, known)]
    return out


def _apart(words: str) -> list[str]:
    """``kprobe:a,kprobe:b`` as a clause has them: a comma parts two probes where a source follows it."""
    import re

    return [w.strip() for w in re.split(r",(?=\s*\w+:)", words)]


def _script(args: argparse.Namespace) -> tuple[str, str, list[str]] | None:
    """(name, text, parameters) if a program was given: by -e, as a bare argument with a brace, or as a file."""
    from probescope.cli.run import read_script

    words = list(args.what)
    if args.program is not None:
        return "stdin", args.program, words
    first = words[0]
    if "{" in first:
        return "stdin", first, words[1:]
    if first == "-" or (os.path.isfile(first) and (os.sep in first or first.endswith(".bt"))):
        return first if first != "-" else "stdin", read_script(first), words[1:]
    return None


def _word(word: str, known: Facts) -> Sequence[Answer]:
    from probescope import inquiry
    from probescope.errors import ProbescopeError

    out: list[Answer] = []
    for name in inquiry.candidates(word, pid=known.request.pid):
        try:
            out += [(name, False, e) for e in inquiry.explain_point(name, known)]
        except ProbescopeError:  # it is listed, and gone or unreadable now
            continue
    if not out:
        raise inquiry.nothing_like(word)
    return out


def _measure() -> Measured:
    from probescope.cli.progress import Progress
    from probescope.collect import measured
    from probescope.collect.measure import measure

    progress = Progress("measuring what a hit costs")
    try:
        found = measure(progress)
    finally:
        progress.close()
    if found.costs:
        measured.save(found)
    return found


def _nothing_measured(measured: Measured) -> Exception:
    from probescope.errors import ProbescopeError

    first = next(iter(measured.missing.items()), ("", ""))
    hints = ["run as root, or with CAP_BPF and CAP_PERFMON", "probescope doctor says what is missing"]
    return ProbescopeError(f"nothing could be measured: {first[0]}: {first[1]}", hints=hints)


def _costs(measured: Measured, *, as_json: bool) -> int:
    if as_json:
        import json

        sys.stdout.write(json.dumps(measured.to_json(), indent=2) + "\n")
    else:
        from probescope.cli.explain_text import cost_table

        sys.stdout.write(cost_table(measured))
    return 0


def _json(answers: Sequence[Answer], known: Facts) -> None:
    import json

    from probescope.kernel.host import host

    document: dict[str, Any] = {
        "kernel": host().release,
        "machine": host().machine,
        "costs_measured": bool(known.costs.measured),
        "explanations": [{"asked": asked, "program": program, **e.to_json()} for asked, program, e in answers],
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
