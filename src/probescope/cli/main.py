"""``probescope COMMAND ...``: finds the command, turns errors into messages and exit codes.

Exit codes: 0 done; 1 it failed, or found nothing, or the program asked for it; 2 the command line makes no sense;
130 interrupted; 141 whoever read the output is gone; 143 ended by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module, what it does)
    "run": ("run", "run a tracing program: one line, or a file"),
    "list": ("list", "list probes, with their arguments"),
    "explain": ("explain", "how a probe or program would be traced here, and why"),
    "doctor": ("doctor", "what this kernel and these privileges can do"),
    "demo": ("demo", "three questions answered on this machine, explained line by line"),
    "probe": ("probe", "probe functions and lines of programs and the kernel, with their variables"),
    "graph": ("graph", "trace functions of the kernel and all that they call"),
    "hist": ("hist", "count events in the kernel by their fields, without BPF"),
    "latency": ("latency", "measure the time from one event to another, or find latencies of the kernel"),
    "ftrace": ("ftrace", "record, report, start, show, list... as trace-cmd does"),
    "flame": ("flame", "draw counted stacks as a flame graph"),
    "export": ("export", "turn a recording into a file for another program"),
    "record": ("record", "record events of a command, of tasks or of the machine"),
    "top": ("top", "show where time goes, while it goes"),
    "report": ("report", "sum up the samples of a recording"),
    "annotate": ("annotate", "show the instructions of recorded functions with their costs"),
    "diff": ("diff", "compare the samples of recordings"),
    "script": ("script", "print the events of a recording"),
    "query": ("query", "ask recordings by SQL"),
    "timeline": ("timeline", "look at recordings in the browser"),
    "ask": ("ask", "ask recordings what is ready to be asked: why is it slow, who waits for whom"),
    "args": ("args", "show the arguments of a function: declared, or guessed"),
    "span": ("span", "measure how long a function takes, or the code between points"),
    "peel": ("peel", "look at a function: its callers, arguments, time, results; then at those"),
    "include": ("include", "print where the header is that marks code of C and C++ programs"),
    "whois": ("whois", "find the function behind a message, an address or an error"),
    "stat": ("stat", "count events of a command, of processes or of the machine"),
    "completion": ("completion", "print shell completion for bash, zsh or fish"),
}

_SCHED = "probescope record -e 'sched:*' -a -- sleep 5, then report --sched or --timehist, or flame --off-cpu"
PEERS = {
    # what other tools are called and call it: what it is here
    "bpftrace": "probescope run, with bpftrace's options",
    "perf": "perf's commands are probescope's: probescope stat, record, report, script, annotate, diff, top",
    "trace-cmd": "probescope ftrace record, report, start, show, list...",
    "trace": "probescope run -e 'tracepoint:syscalls:sys_enter_openat { print(args) }', or report --syscalls",
    "sched": _SCHED,
    "timechart": _SCHED,
    "kwork": "probescope record -e 'irq:*' -a -- sleep 5, then report --irq, or ask interrupts",
    "evlist": "probescope report --header-only",
    "archive": "probescope record saves the names that are needed beside the recording: perf.data.symbols",
    "inject": "names of JIT compilers are found without it; probescope export -o part.data makes a part of a recording",
    "buildid-list": "probescope report --header-only",
    "buildid-cache": "probescope record saves the names that are needed beside the recording: perf.data.symbols",
    "convert": "probescope export",
    "data": "probescope export",
    "lock": "probescope record -e 'lock:contention_*' -a -g -- sleep 5, then ask locks",
    "kmem": "probescope hist kmem:kmalloc --keys call_site.sym --values bytes_alloc --seconds 5",
    "mem": "probescope record -d -e EVENT, then script -F +addr: accesses are listed, not summed up",
    "c2c": "probescope record -d -e EVENT, then script -F +addr: accesses are listed, not summed up",
    "kvm": "probescope stat -e 'kvm:*' -a, or record and report -s of the fields of kvm:kvm_exit",
    "kallsyms": "probescope whois 0xADDRESS -k, or list 'kprobe:NAME'",
    "daemon": "probescope record --control fifo:CTL --switch-output=1G runs for as long as it likes",
    "test": "probescope doctor says what works here",
    "iostat": "counters of I/O stacks are events: probescope stat -e 'uncore_iio_0/.../'",
    **dict.fromkeys(("bench", "config"), "there is nothing to set or to measure beforehand: probescope --help"),
    **{
        word: f"probescope ftrace {word}"
        for word in "start stop restart set extract reset show stream snapshot split restore mark stack clear dump "
        "check-events".split()
    },
    **dict.fromkeys(("listen", "agent", "attach"), "run probescope ftrace record on each machine, by ssh"),
    "profile": "probescope record -a -g -- sleep 5, then report or flame; or top",
}  # fmt: skip

USAGE = """usage: probescope COMMAND [ARG ...]

{commands}

examples:
  probescope run -e 'tracepoint:raw_syscalls:sys_enter {{ @[comm] = count(); }}'
  probescope list 'tracepoint:sched:*'
  probescope explain openat
  probescope doctor

'probescope COMMAND --help' says more about one of them.

exit status: 0 done, 1 failed or nothing found, 2 the command line makes no sense
environment: NO_COLOR, BPFTRACE_COLOR, PROBESCOPE_DEBUG=1 (tracebacks), XDG_CACHE_HOME (measured costs)
"""


BPFTRACE = "bpftrace v0.26"
"""Whose language this is: scripts ask for the version."""


def usage() -> str:
    return USAGE.format(commands="\n".join(f"  {name:<12}{about}" for name, (_, about) in COMMANDS.items()))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code. Never raises for anything a user can do."""
    args = named(sys.argv) if argv is None else list(argv)
    _open_standard_streams()
    if argv is None:
        _take_every_character()
    code = guarded(lambda: _dispatch(args, signals=argv is None))
    if argv is None and "signal" in sys.modules:
        from signal import SIG_IGN, SIGINT, signal

        signal(SIGINT, SIG_IGN)  # too late to interrupt anything: the exit code is what the work came to
    return code


def named(argv: Sequence[str]) -> list[str]:
    """The arguments. Called ``bpftrace`` (a link of that name, as scripts begin with), what follows is for ``run``."""
    args = list(argv[1:])
    if os.path.basename(argv[0]) != "bpftrace":
        return args
    return ["version", "bpftrace"] if args[:1] in (["-V"], ["--version"]) else ["run", "--as-bpftrace", *args]


def _open_standard_streams() -> None:
    """Started with one of them closed, a map or a program would get its number, and text be written into that."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _take_every_character() -> None:
    """Names of files and tasks are any bytes, and go out as those; what the locale has no letter for (bars of a chart)
    goes out by its number. As it is, Python ends at either, but in the locales C and C.UTF-8."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and sys.stdout.errors in ("strict", "surrogateescape"):
        from codecs import register_error

        register_error("probescope", _anyhow)
        reconfigure(errors="probescope")


def _anyhow(e: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(e, UnicodeEncodeError):
        raise e
    out = b""
    for c in e.object[e.start : e.end]:
        raw = 0xDC80 <= ord(c) <= 0xDCFF  # a byte that was no UTF-8, by surrogateescape
        out += bytes([ord(c) & 0xFF]) if raw else ascii(c)[1:-1].encode()
    return out, e.end


def _dispatch(args: list[str], signals: bool = False) -> int:
    if not args or args[0] in ("-h", "--help", "help"):
        return _help(args[1:])
    if args[0] in ("-V", "--version", "version"):
        from probescope._version import __version__

        prefix = f"{BPFTRACE} as spoken by " if args[1:] == ["bpftrace"] else ""
        sys.stdout.write(f"{prefix}probescope {__version__}\n")
        return 0
    if args[0] not in COMMANDS:
        return _unknown(args[0])
    if signals:
        from probescope.cli.ended import mind

        mind()
    return _command(args[0])(args[1:])


def _help(rest: list[str]) -> int:
    words = [w for w in rest if not w.startswith("-")]
    if words and words[0] in COMMANDS:
        return _command(words[0])(["--help"])
    if words:
        return _unknown(words[0])
    sys.stdout.write(usage())
    return 0


def _command(name: str) -> Callable[[list[str]], int]:
    from importlib import import_module

    entry: Callable[[list[str]], int] = import_module(f"probescope.cli.{COMMANDS[name][0]}").main
    return entry


def _unknown(word: str) -> int:
    from probescope.errors import UsageError

    raise UsageError(f"there is no command '{word}'", hints=[_meant(word)])


def _meant(word: str) -> str:
    from probescope.diagnostics import nearest

    if word.startswith("-"):
        near = nearest(word, ("--help", "--version"), most=1)
        return f"did you mean {near[0]}?" if near else f"the command comes first: probescope run {word} ..."
    if "{" in word:
        return "programs are run by: probescope run -e 'PROGRAM'"
    if word.endswith(".bt"):
        return f"scripts are run by: probescope run {word}"
    if ":" in word:
        return f"probescope explain {word}, or list, or run -e '{word} {{ ... }}'"
    if word in PEERS:
        return PEERS[word]
    if os.path.isfile(word):
        return f"recordings are read by: probescope script -i {word}, report -i {word}, timeline {word}"
    near = nearest(word.lower(), [*COMMANDS, "help", "version"], most=1)
    return f"did you mean '{near[0]}'?" if near else "probescope --help lists the commands"


def guarded(run: Callable[[], int]) -> int:
    """Runs a command; errors become messages on stderr. With PROBESCOPE_DEBUG set, they are tracebacks."""
    debug = bool(os.environ.get("PROBESCOPE_DEBUG"))
    try:
        code = _code(run)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output is gone: nothing is wrong, and nothing more can be said
        _drop_output()
        return 141
    except Exception as e:
        if _asked():
            return 128 + _asked()
        if isinstance(e, OSError) and e.errno in _UNWRITABLE:
            _drop_output()
            sys.stderr.write(_shown(f"ERROR: cannot write {e.filename or 'the output'}: {e.strerror}\n"))
            return 1
        code = _lacking(e)
        if code:
            sys.stderr.write(f"ERROR: {os.strerror(code)}\nHINT: {_SCARCE[code]}\n")
            return 1
        if debug:
            raise
        sys.stderr.write(_shown(error_text(e)))
        return 1 if _full(e) else getattr(e, "exit_code", 1)
    return code


def _code(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as e:  # --help of a command, or a signal
        if _asked():
            _drop_output()  # nobody may read it: that is no reason to stay
        return e.code if isinstance(e.code, int) else 0


def _full(e: Exception) -> bool:
    """Whether it is about a file that could not be written to its end: then the command line made sense."""
    return any(isinstance(of, OSError) and of.errno in _FULL for of in (e.__cause__, e.__context__))


def _asked() -> int:
    """The signal that is the reason of what happened, or 0."""
    ended = sys.modules.get("probescope.cli.ended")
    return ended.asked[-1] if ended is not None and ended.asked else 0


def _shown(text: str) -> str:
    """Messages repeat names of files, probes and processes: a terminal must not obey them."""
    from probescope.model.visible import visible_in_color

    return visible_in_color(text) if sys.stderr.isatty() else text


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_UNWRITABLE = (*_FULL, errno.EROFS)

_SCARCE = {
    errno.EMFILE: "more than ulimit -n files cannot be open at once: ulimit -n 4096",
    errno.ENFILE: "this machine has no free file descriptors: sysctl fs.file-max",
    errno.ENOMEM: "there is not enough memory: ulimit -v, or the limits of the container",
    errno.EAGAIN: "no more processes or threads can be made: ulimit -u, or the pids.max of the cgroup",
}


def _lacking(e: Exception) -> int:
    """The number of what ran out, wherever it was that it did: even in an import. Nothing may be imported to say so."""
    if isinstance(e, MemoryError):
        return errno.ENOMEM
    if isinstance(e, RuntimeError) and "start new thread" in str(e):  # Python keeps the number to itself
        return errno.EAGAIN
    if isinstance(e, ImportError):
        return _unloadable(e)
    return e.errno if isinstance(e, OSError) and e.errno in _SCARCE else 0


def _unloadable(e: BaseException | None) -> int:
    """Of an import that failed: the dynamic linker says it in words, and packages wrap these in words of their own."""
    while e is not None:
        text = str(e)
        if os.strerror(errno.EMFILE) in text:
            return errno.EMFILE
        if "failed to map segment" in text or os.strerror(errno.ENOMEM).lower() in text.lower():
            return errno.ENOMEM
        e = e.__cause__ or e.__context__
    return 0


def _drop_output() -> None:
    """What Python still holds back for standard output goes nowhere, without a word at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def error_text(e: Exception) -> str:
    """Diagnostics with their carets, or what, where and hints. What is none of our errors is a bug of ours."""
    from probescope.cli.streams import color_wanted
    from probescope.diagnostics import render, render_all
    from probescope.errors import InternalError, NothingToAttach, ProbescopeError, ScriptError, UsageError

    color = color_wanted()
    if isinstance(e, NothingToAttach):  # said as such: it may be what the script wants
        told = [render(d, color=color) for d in e.diagnostics if d.severity != "error"]
        return "".join(f"{line}\n" for line in (*told, e.what))
    if isinstance(e, ScriptError):
        return render_all(e.diagnostics, color=color) + "\n"
    if isinstance(e, ValueError) and "integer string conversion" in str(e):
        e = UsageError("a number of thousands of digits is none that anything here can have")
    hints = list(e.hints) if isinstance(e, ProbescopeError) else []
    text = str(e)
    if isinstance(e, InternalError) or not isinstance(e, ProbescopeError):
        text = text if isinstance(e, InternalError) else f"{type(e).__name__}: {text}"
        hints.append("this is a bug in probescope: please report it with the command that led to it")
        hints.append("PROBESCOPE_DEBUG=1 shows where it happened")
    label = "\x1b[31mERROR\x1b[0m" if color else "ERROR"
    lines = [f": {text}\n", *(f"HINT: {h}\n" for h in hints)]
    if sys.stderr is not None and sys.stderr.isatty():
        from probescope.model.visible import visible

        lines = [visible(line) for line in lines]  # names out of binaries and recordings are no commands
    return label + "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
