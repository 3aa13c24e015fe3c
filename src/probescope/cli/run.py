"""``probescope run``: a tracing program, from a line or a file, live on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from probescope.cli.output import add_output_options
from probescope.cli.parsing import Parser, debug_dirs, process_id
from probescope.cli.streams import color_wanted, open_closed_streams
from probescope.errors import SessionError

if TYPE_CHECKING:
    from probescope.api import Built, Request
    from probescope.cli.writer import Writer
    from probescope.ir.program import Program
    from probescope.model.site import Site

EXAMPLES = """examples:
  probescope run -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
  probescope run -e 'uretprobe:/bin/bash:readline { printf("%s\\n", str(retval)); }'
  probescope run -e 'profile:hz:99 { @[kstack] = count(); }' -c 'dd if=/dev/zero of=/dev/null count=1M'
  probescope run -f folded -e 'profile:hz:99 { @[comm, ustack, kstack] = count(); }' > stacks.folded
  probescope run --map-format csv -e 'tracepoint:syscalls:sys_enter_read { @[pid, comm] = sum(args.count); }'
  probescope run opensnoop.bt -- --errname
  probescope run --dry-run script.bt          compile only
  probescope run --emit bpf -e '...'          the compiled program
  probescope run --fmt script.bt              the script, laid out as scripts should be

environment: BPFTRACE_* variables set the configuration (BPFTRACE_MAX_STRLEN=128).
"""


def parser(*, as_bpftrace: bool = False) -> Parser:
    usage = "probescope run [OPTIONS] (-e PROGRAM | FILE | -) [PARAM ...] [-- PARAM ...]"
    kind = Parser
    if as_bpftrace:
        from probescope.cli.parsing import BpftraceParser

        kind, usage = BpftraceParser, usage.replace("probescope run", "bpftrace")
    p = kind("run", "Run a tracing program in the bpftrace language.", EXAMPLES, usage=usage)
    p.add_argument("--as-bpftrace", action="store_true", help=argparse.SUPPRESS)  # called by that name
    _program_options(p, "--input" if as_bpftrace else "-i")  # bpftrace has no -i
    add_output_options(p)
    _other_options(p)
    return p


def _program_options(p: argparse.ArgumentParser, short: str) -> None:
    p.add_argument("words", nargs="*", metavar="FILE", help="script to run (- is stdin), then its parameters")
    p.add_argument("-e", dest="program", metavar="PROGRAM", help="the program itself")
    about = "answer from a recording: perf.data or trace.dat"
    p.add_argument(*{short: 0, "--input": 0}, dest="input", default="", metavar="FILE", help=about)
    p.add_argument("-p", "--pid", type=process_id, default=0, help="trace only this process")
    p.add_argument("-c", "--cmd", metavar="COMMAND", help="start a program, trace until it ends; cpid is its pid")
    p.add_argument(
        "--dwarf-pid",
        type=process_id,
        action="append",
        default=[],
        metavar="PID",
        help="user stacks of this process are unwound by its tables from the start, as those of -p and -c",
    )
    p.add_argument("--follow", action="store_true", help="trace only the process of -c or -p, and what it forks")
    p.add_argument("-I", dest="include_dirs", action="append", default=[], metavar="DIR", help="where #include looks")
    p.add_argument("--include", action="append", default=[], metavar="FILE", help="a header to read first")
    p.add_argument(
        "--debuginfo", action="append", default=[], metavar="DIR", help="where debug files are looked for too"
    )
    about = "nothing to ask for: programs that start later find their USDT semaphores raised as well"
    p.add_argument("--usdt-file-activation", action="store_true", help=about)
    p.add_argument("--unsafe", action="store_true", help="allow system(), signal(), override() and the like")
    about = "bpf: every clause in the kernel; perf, ftrace: events by perf's rings or ftrace's buffers, evaluated here"
    p.add_argument("--via", choices=("auto", "bpf", "perf", "ftrace"), default="auto", help=about)


def _other_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("-l", "--list", action="store_true", help="list probes: of a glob, or of a FILE or PROGRAM")
    p.add_argument("-v", "--verbose", action="store_true", help="say what is done; with -l, list arguments")
    p.add_argument("-d", dest="debug", metavar="STAGE", choices=STAGES, help="print a stage: ast, ir, plan, bpf")
    p.add_argument("--emit", metavar="WHAT", choices=STAGES, help="as -d, and do not run")
    p.add_argument("--fmt", action="store_true", help="print the script in the canonical layout, and do not run it")
    p.add_argument("--test", action="store_const", dest="mode", const="test", help="run the test: probes")
    p.add_argument("--bench", action="store_const", dest="mode", const="bench", help="run the bench: probes")
    p.add_argument("--mode", choices=("format", "test", "bench"), default="", help="as --fmt, --test, --bench")
    p.add_argument("--probe-filter", default="", metavar="REGEX", help="only probes whose names match")
    about = "functions that may be probed, a line each, instead of available_filter_functions of tracefs"
    p.add_argument("--traceable-functions", default="", metavar="FILE", help=about)
    p.add_argument("--dry-run", action="store_true", help="compile, load and attach, then leave")
    p.add_argument("--aot", metavar="FILE", help="write an executable that runs the program, and do not run it")
    p.add_argument("--info", action="store_true", help="what this machine can do (probescope doctor)")


AS_BPFTRACE = "--as-bpftrace"
STAGES = ("ast", "ir", "plan", "bpf")


def main(argv: list[str]) -> int:
    open_closed_streams()
    args, parameters, options = parse_arguments(argv)
    if args.info:
        from probescope.cli import info

        return info.main()
    if args.list and args.program is None and not _lists_a_script(args):
        return _list(args)
    if args.fmt or args.mode == "format":
        from probescope.cli import fmt

        name, text = _script(args)
        return fmt.show(name, text)
    if args.aot is not None:
        from probescope.cli import aot
        from probescope.front import alone, lower

        request = _request(args, parameters, options)
        lower(request)
        return aot.write(args.aot, argv, alone(request), args.file)
    return run(args, parameters, options)


def parse_arguments(argv: list[str]) -> tuple[argparse.Namespace, list[str], list[str]]:
    """Our options, the script's parameters (what follows the file), and what follows ``--``."""
    from probescope.errors import UsageError

    own, after = argv, []
    if "--" in argv:
        cut = argv.index("--")
        own, after = argv[:cut], argv[cut + 1 :]
    args = parser(as_bpftrace=AS_BPFTRACE in own).parse_intermixed_args(own)
    words = list(args.words)
    if args.program is None and not args.list and not args.info:
        if not words:
            raise UsageError("there is no program to run", hints=["probescope run -e 'PROGRAM', or a FILE", "--help"])
        args.file = words.pop(0)
    else:
        args.file = None
    return args, words, after


def _request(args: argparse.Namespace, parameters: list[str], options: list[str]) -> Request:
    from probescope.api import Request

    name, text = _script(args)
    return Request(
        text=text,
        name=name,
        parameters=tuple(parameters),
        options=tuple(options),
        input=args.input,
        pid=args.pid,
        follow=args.follow,
        command=_command(args.cmd),
        unwind_pids=tuple(args.dwarf_pid),
        unsafe=args.unsafe,
        via="bpf" if args.mode else args.via,
        mode=args.mode,
        probe_filter=args.probe_filter,
        traceable_functions=args.traceable_functions,
        include_dirs=tuple(args.include_dirs),
        includes=tuple(args.include),
        debug_dirs=debug_dirs(args.debuginfo),
        texts=args.format in ("text", "folded"),
        everything=args.everything,
        signals=True,
        rehearsal=args.dry_run,
        terminal=args.output is None and os.isatty(1) and not args.raw,
    )


def run(args: argparse.Namespace, parameters: list[str], options: list[str]) -> int:
    from probescope.api import build

    request = _request(args, parameters, options)
    if args.list:
        from probescope.front import lower

        return _list_sites(lower(request)[0], verbose=args.verbose)
    built = build(request)
    if not args.no_warnings and built.warnings:
        from probescope.diagnostics import render_all

        sys.stderr.write(render_all(built.warnings, color=color_wanted()) + "\n")
    if not args.no_warnings and args.cmd is None and (parameters or options):
        from probescope.cli.unread import told

        sys.stderr.write(told(request.text, [*parameters, *options]))
    if args.emit or args.debug:
        _show_stage(args.emit or args.debug, built)
        if args.emit:
            return 0
    return _session(args, built)


def _command(text: str | None) -> str:
    """That of -c. Raises UsageError if it is given and empty: nothing would ever end the session."""
    if text is None:
        return ""
    from probescope.kernel.child import split_command

    split_command(text)
    return text


def _script(args: argparse.Namespace) -> tuple[str, str]:
    """Name and text of the script."""
    text = args.program if args.program is not None else read_script(args.file)
    return "stdin" if args.program is not None or args.file == "-" else args.file, text


LONGEST_SCRIPT = 8 << 20
"""Characters that are read: more than a script may have, so that the language says so. /dev/zero has no end."""


LONGEST_NAME = 200
"""Characters of a file's name that a message repeats."""


def read_script(path: str) -> str:
    """The text of a script. Raises UsageError."""
    from probescope.errors import UsageError

    try:
        if path == "-":
            return _text(sys.stdin.read(LONGEST_SCRIPT), path)
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            return _text(f.read(LONGEST_SCRIPT), path)
    except (OSError, ValueError) as e:
        hints = ["programs are given with -e: probescope run -e 'PROGRAM'"] if looks_like_a_program(path) else []
        name = path if len(path) <= LONGEST_NAME else path[:LONGEST_NAME] + "..."
        raise UsageError(f"failed to open file '{name}': {getattr(e, 'strerror', None) or e}", hints=hints) from None


def _text(script: str, path: str) -> str:
    """Raises UsageError where it is none: megabytes of mistakes would help nobody."""
    if "\0" not in script:
        return script
    from probescope.errors import UsageError
    from probescope.formats.sniff import recording_kind

    hints = [f"it is a recording: probescope run -i {path} -e 'PROGRAM'"] if recording_kind(path) else []
    raise UsageError(f"{'what stands in stdin' if path == '-' else path} is no text", hints=hints)


def looks_like_a_program(text: str) -> bool:
    """Whether what was given as the name of a file is a program: it has a body, or begins with a probe."""
    from probescope.model.probe import SHORT_NAMES, SOURCES

    head = text.strip().partition(":")[0].lower()
    return "{" in text or ((":" in text or " " in text) and (head in SOURCES or head in SHORT_NAMES))


def _lists_a_script(args: argparse.Namespace) -> bool:
    """``-l FILE``: the probes of a script. What only looks like the name of one is a pattern, as anything else is."""
    word = args.words[0] if args.words else ""
    if os.path.isfile(word):
        args.file = word
    elif word.endswith(".bt") and not args.no_warnings:
        sys.stderr.write(
            f"WARNING: It appears that '{word}' is a filename but the file does not exist. "
            f"Treating '{word}' as a search pattern.\n"
        )
    return args.file is not None


def _list_recorded(args: argparse.Namespace) -> int:
    """``-i FILE -l``: what a program on the recording may name."""
    from probescope.recorded import probes

    sys.stdout.write("".join(f"{name}\n" for name in probes(args.input, args.words)))
    return 0


def _list(args: argparse.Namespace) -> int:
    if args.input:
        return _list_recorded(args)
    from probescope.cli.list import show
    from probescope.errors import ProbeError, UsageError

    if args.format not in ("text", "json"):
        raise UsageError(f"-f {args.format} is for programs, not for lists", hints=["-f json"])
    code = 0
    dirs = debug_dirs(args.debuginfo)
    for pattern in ",".join(args.words or ["*"]).split(","):
        try:
            code = max(
                code,
                show(pattern, verbose=args.verbose, pid=args.pid or -1, as_json=args.format == "json", dirs=dirs),
            )
        except ProbeError as e:
            if not args.as_bpftrace:  # which takes an empty list for an answer
                raise
            from probescope.cli.main import error_text

            sys.stderr.write(error_text(e).replace("ERROR", "WARNING", 1))
    return code


def _list_sites(program: Program, *, verbose: bool) -> int:
    """The sites of a program; with ``verbose`` also which of several probes (``a ?? b``) were chosen, and why."""
    for clause in program.clauses:
        if clause.own:
            continue
        notes = [f"    {note}\n" for note in clause.chosen] if verbose else []
        sys.stdout.write("".join([*dict.fromkeys(f"{_listed(site)}\n" for site in clause.sites), *notes]))
    return 0


def _listed(site: Site) -> str:
    """As ``list`` names it: what counts or takes time, without the number (``interval:ms:``)."""
    return site.name[: site.name.rindex(":") + 1] if site.source in COUNTING else site.name


COUNTING = ("hardware", "interval", "profile", "software")


def _show_stage(stage: str, built: Built) -> None:
    from probescope.cli.stages import stage_text

    sys.stdout.write(stage_text(stage, built))
    sys.stdout.flush()


def _session(args: argparse.Namespace, built: Built) -> int:
    from probescope.cli.output import view
    from probescope.cli.writer import Writer
    from probescope.model.output import Attached, Output

    shown = view(args, built.program)
    fd = 1 if args.output is None else _open_output(args.output)
    writer = Writer(shown, fd, buffering=args.buffering)

    def sink(output: Output) -> None:
        writer(output)
        if isinstance(output, Attached):
            notify()

    session = built.session(sink)
    try:
        session.start()
        writer.flush()
        if args.dry_run:
            return 0
        if args.mode:
            code = session.trials()
            code = session.stop() or code
        else:
            while session.poll():
                writer.flush()
            code = session.stop()
        writer.close()  # the answer first: closing many perf events takes seconds
        return code
    finally:
        session.close()
        _finish(writer)


def _finish(writer: Writer) -> None:
    """What an error left unwritten; a second error about the same output would only hide the first."""
    with suppress(BrokenPipeError, SessionError):
        writer.close()


def _open_output(path: str) -> int:
    from probescope.errors import UsageError

    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None


NOTIFY = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"


def notify(environment: Any = os.environ) -> None:
    """Harnesses of bpftrace scripts ask, by this variable, for a line on stdout when probes are attached."""
    if environment.get(NOTIFY):
        os.write(1, f"{NOTIFY}\n".encode())
