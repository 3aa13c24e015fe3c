"""Command lines: argparse with errors of our own kind, and examples under every help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from probescope.cli.numbers import whole

if TYPE_CHECKING:
    from probescope.errors import ProbeError, ScriptError

INSTEAD: dict[tuple[str, str], list[str]] = {
    ("record", "--duration"): ["a command says how long: probescope record -a -- sleep 10"],
    ("record", "--timeout"): ["a command says how long: probescope record -a -- sleep 10"],
    ("stat", "--duration"): ["--timeout MS, or a command: probescope stat -a -- sleep 10"],
    ("top", "--duration"): ["--times N ends after N looks"],
    ("list", "-j"): ["-f json: a document a line"],
    ("list", "--json"): ["-f json: a document a line"],
    ("list", "--raw-dump"): ["names alone are what is listed: probescope list 'tracepoint:*'"],
    ("list", "--details"): ["-v: the arguments of each"],
    ("list", "--long-desc"): ["-v: the arguments of each"],
    ("list", "--desc"): ["-v: the arguments of each"],
    ("list", "--no-desc"): ["names alone are what is listed: probescope list 'tracepoint:*'"],
    ("run", "-V"): ["probescope --version"],
    ("run", "--version"): ["probescope --version"],
    ("run", "--emit-elf"): ["--aot FILE writes a program that runs it; --emit bpf shows its instructions"],
    ("run", "--emit-llvm"): ["there is no LLVM in it: --emit ir, --emit bpf"],
    ("run", "--no-feature"): ["--via perf and --via ftrace do without BPF"],
    ("run", "--btf"): ["the kernel's types are always there, where it has them: probescope doctor"],
    ("run", "--debug"): ["-d STAGE: ast, ir, plan, bpf"],
    ("stat", "record"): ["-j -o FILE keeps counts, and -x, -o FILE; there is no file of their own to report"],
    ("stat", "report"): ["-j -o FILE keeps counts, and -x, -o FILE; there is no file of their own to report"],
    ("script", "record"): ["probescope record, then script; or programs: probescope run -i perf.data FILE.bt"],
    ("script", "report"): ["probescope script -i perf.data; programs on it: probescope run -i perf.data FILE.bt"],
    ("script", "flamegraph"): ["probescope flame"],
    **{
        (c, "-i"): [f"recordings have no option before them: probescope {c} FILE"]
        for c in ("timeline", "query", "diff")
    },
    ("stat", "-c"): ["a command stands behind --: probescope stat -- COMMAND"],
    ("timeline", "--html"): ["one file of it: probescope export --html FILE -o OUT"],
    ("timeline", "-c"): ["a command stands behind --: probescope timeline --live -- COMMAND"],
    ("export", "-i"): ["the recording has no option before it: probescope export FILE -o OUT"],
    ("timeline", "-a"): ["several recordings: probescope timeline A B"],
    ("timeline", "--append"): ["several recordings: probescope timeline A B"],
    ("timeline", "-s"): ["what is looked at stands in the page's address, behind #: it may be kept and passed on"],
    ("timeline", "--session"): [
        "what is looked at stands in the page's address, behind #: it may be kept and passed on"
    ],
    ("timeline", "--cpu"): ["the page has filters: press ? in it"],
    ("timeline", "--pid"): ["the page has filters: press ? in it"],
    ("diff", "--stream"): ["probescope flame --before OLD NEW shows which stacks have changed"],
}
"""What peers' options and words would be here, by command and option, where no option with a like name is it."""


_PERFS_F = "-f text, -f json; perf's -f is not needed: it does not matter here whose file it is"


def _joined(words: Sequence[str], options: tuple[str, ...]) -> list[str]:
    """``-F -comm`` as ``-F-comm``, ``--fields -comm`` as ``--fields=-comm``; what stands behind ``--`` as it is."""
    out: list[str] = []
    for i, word in enumerate(words):
        if word == "--":
            return [*out, *words[i:]]
        if out and out[-1] in options and word[:1] == "-" and word[1:2] not in ("", "-") and len(word) > 2:
            out[-1] += ("=" if out[-1].startswith("--") else "") + word
        else:
            out.append(word)
    return out


BEHIND = "[-- COMMAND]"


def _with_command(usage: str) -> str:
    """The usage of a command that takes another one, in the same line if there is room."""
    from shutil import get_terminal_size

    *above, last = usage.rstrip("\n").split("\n")
    indent = len(last) - len(last.lstrip()) if above else len("usage: ")
    fits = len(last) + 1 + len(BEHIND) <= get_terminal_size().columns - 2  # as argparse counts
    return "\n".join([*above, last + (" " if fits else "\n" + " " * indent) + BEHIND]) + "\n"


class Parser(argparse.ArgumentParser):
    """``command``: as in ``probescope COMMAND``. Mistakes are ``UsageError`` with the nearest option; options are
    never guessed from their beginnings, so that scripts do not break when one is added."""

    def __init__(self, command: str, description: str, examples: str, *, runs: bool = False, **options: Any) -> None:
        super().__init__(
            prog=f"probescope {command}",
            description=description,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )
        self.runs = runs
        """A command of the user's may stand behind ``--``: cut_command has taken it away before this parses."""

    signed: tuple[str, ...] = ()
    """Options whose values may begin with a minus, that do not look like options then: ``-F -comm``."""

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]  # of three overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        return super().parse_known_args(_joined(args, self.signed) if args and self.signed else args, namespace)

    def error(self, message: str) -> NoReturn:
        from probescope.errors import UsageError

        near = [_PERFS_F] if self._is_perfs_f(message) else self._nearest(message)
        raise UsageError(message, hints=[*near, f"{self.prog} --help says what there is"])

    def _is_perfs_f(self, message: str) -> bool:
        return message.startswith("argument -f/--format") and self.prog.partition(" ")[2] in {
            "report",
            "script",
            "diff",
        }

    def format_usage(self) -> str:
        usage = super().format_usage()
        return _with_command(usage) if self.runs and BEHIND not in usage else usage  # parse_intermixed_args keeps it

    def format_help(self) -> str:
        text = super().format_help()
        return text.replace(super().format_usage(), self.format_usage(), 1) if self.runs else text

    def print_help(self, file: Any = None) -> None:
        """Argparse drops what it cannot write, and says nothing."""
        import sys

        (file or sys.stdout).write(self.format_help())

    def _nearest(self, message: str) -> list[str]:
        """For ``unrecognized arguments: --mesure``: the option that may have been meant."""
        from probescope.diagnostics import nearest

        _, _, words = message.partition("unrecognized arguments: ")
        wrong = [w.partition("=")[0] for w in words.split() if w.startswith("-")]
        known = [o for a in self._actions if a.help != argparse.SUPPRESS for o in a.option_strings]
        if self.runs and wrong[:1] == ["-c"]:
            return [f"a command stands behind --: {self.prog} ... {BEHIND[1:-1]}"]
        found = [nearest(w, known, most=1) for w in wrong[:1]]
        near = [f"did you mean {near[0]}?" for near in found if near]
        return INSTEAD.get((self.prog.partition(" ")[2], wrong[0]), near) if wrong else self._a_file(words)

    def _a_file(self, words: str) -> list[str]:
        """Recordings are named by -i where words of their own mean something else, or nothing."""
        import os

        first = words.partition(" ")[0]
        command = self.prog.partition(" ")[2]
        if (command, first) in INSTEAD:
            return INSTEAD[command, first]
        takes = self._option_string_actions.get("-i")  # of stat, record and top it is without children
        known = takes is not None and takes.nargs is None and bool(first) and os.path.exists(first)
        return [f"a recording is named by -i: {self.prog} -i {first}"] if known else []


class BpftraceParser(Parser):
    """For who calls us by the name of bpftrace: usage as it is told there, also with an error."""

    def format_usage(self) -> str:
        return f"USAGE:\n    {self.usage}\n"

    def format_help(self) -> str:
        return super().format_help().replace(f"usage: {self.usage}\n", self.format_usage(), 1)

    def error(self, message: str) -> NoReturn:
        import sys

        sys.stderr.write(self.format_usage())
        super().error(message)


def offers(action: argparse.Action, words: Sequence[str]) -> None:
    """Words that shells complete, of an option that takes others too."""
    action.offers = tuple(words)  # type: ignore[attr-defined]


def offered(action: argparse.Action) -> tuple[str, ...]:
    """What shells complete."""
    found: Sequence[object] = tuple(action.choices or ()) or getattr(action, "offers", ())
    return tuple(map(str, found))


def add_format(p: argparse.ArgumentParser, about: str = "text (default) or json") -> None:
    """-f, the same in every command."""
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help=about)


def bounded(text: str, what: str, most: float) -> float:
    """Above 0, and no more than ``most``: nan is neither. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 < number <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of {what} between 0 and {most:g}")
    return number


def how_long(text: str) -> float:
    """For ``type=``: how long."""
    return bounded(text, "seconds", 1e7)


def how_many(text: str) -> int:
    """For ``type=``: how many, 0 too. Raises ArgumentTypeError."""
    number = whole(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no number of things, from 0 on")
    return number


def a_name(text: str) -> str:
    """For ``type=`` of what something is searched in or removed by: an unset variable of a shell is no name, and not
    the kernel, or everything. Raises ArgumentTypeError."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


class Named(argparse.Action):
    """The same where the default is an empty text, which a ``type=`` would be asked about too."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        try:
            setattr(namespace, self.dest, a_name(values))
        except argparse.ArgumentTypeError as e:
            raise argparse.ArgumentError(self, str(e)) from None


PID_MAX_LIMIT = 1 << 22


def debug_dirs(values: list[str]) -> tuple[str, ...]:
    """Folders of ``--debuginfo DIR[:DIR]``, which may be given several times."""
    return tuple(d for value in values for d in value.split(":") if d)


def process_id(text: str) -> int:
    """For ``type=``: the number of a process, which is at most PID_MAX_LIMIT of the kernel's include/linux/threads.h.
    Raises UsageError, in the words that users of bpftrace know."""
    from probescope.errors import UsageError

    digits = text[: len(text) - len(text.lstrip("0123456789"))] if text.isascii() else ""
    if digits != text or not digits:
        wrong = "trailing bytes" if digits else "integer"
        raise UsageError(f"Failed to parse pid: invalid {wrong}: {text}", hints=["pgrep -a NAME finds processes"])
    pid = whole(text, 1, PID_MAX_LIMIT)
    if pid is None:
        raise UsageError(f"Pid out of range: {text}", hints=["pgrep -a NAME finds processes"])
    return pid


def cpu_list(text: str, option: str = "-C") -> list[int]:
    """``0,2-3``. ``option``: what it was given by. Raises UsageError."""
    from probescope.errors import FormatError, UsageError
    from probescope.kernel.machine import parse_cpus

    found: list[int] = []
    with suppress(FormatError):
        found = [] if re.search(r"-\s*(,|$)", text) else parse_cpus(text)  # the kernel takes "2-" for 2
    if not found:
        raise UsageError(f"'{text}' is not a list of CPUs", hints=[f"{option} 0,2-3"])
    return found


def cut_command(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Our own words, and the command that stands behind ``--``."""
    cut = list(argv).index("--") if "--" in argv else len(argv)
    return list(argv[:cut]), tuple(argv[cut + 1 :])


def command_words(words: Sequence[str], of: str = "") -> tuple[str, ...]:
    """A command to be run, or none. Raises UsageError where there is no such program; ``of``: our command, whose words
    at the peers may have been meant."""
    if words:
        from probescope.errors import UsageError
        from probescope.kernel.child import find_program

        try:
            find_program(words[0])
        except UsageError as e:
            raise UsageError(e.what, hints=INSTEAD.get((of, words[0]), e.hints)) from None
    return tuple(words)


def add_filters(p: argparse.ArgumentParser) -> None:
    """Which events of a recording: the same in every command that reads one."""
    p.add_argument("-c", "--comms", "--comm", metavar="LIST", help="only of threads with these names")
    p.add_argument("--pid", metavar="LIST", help="only of these processes")
    p.add_argument("--tid", metavar="LIST", help="only of these threads")
    p.add_argument("-C", "--cpu", metavar="LIST", help="only on these CPUs: 0,2-3")
    p.add_argument("--time", metavar="A,B", help="only then: 10.5,12 in seconds, 10%%/2, 0%%-25%%")


def add_jobs(
    p: argparse.ArgumentParser, usual: str = "as many as there are processors, and one if it is small"
) -> None:
    """How many processes read a recording. ``usual``: how many do where nothing is said."""
    p.add_argument("-j", "--jobs", type=_jobs, metavar="N", help=f"processes that read it together ({usual})")


def jobs_of(args: argparse.Namespace) -> int:
    """0: as many as are worth it. ``PROBESCOPE_JOBS`` says it where no option does. Raises UsageError."""
    import os

    given: int | None = args.jobs
    return given if given is not None else _jobs(os.environ.get("PROBESCOPE_JOBS") or "0")


MOST_JOBS = 64


def _jobs(text: str) -> int:
    from probescope.errors import UsageError

    number = whole(text, most=MOST_JOBS)
    if number is None:
        raise UsageError(f"'{text}' is no number of processes, which is up to {MOST_JOBS}", hints=["--jobs 2"])
    return number


def of_nobody(e: ScriptError) -> ProbeError:
    """What a program was refused for that nobody wrote: without its text, and hints that are about that."""
    from probescope.errors import ProbeError

    first = next((d for d in e.diagnostics if d.severity == "error"), e.diagnostics[0])
    return ProbeError(first.message, hints=[h for h in first.hints if not h.startswith("config")])
