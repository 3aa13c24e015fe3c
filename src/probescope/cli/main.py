"""``probescope COMMAND ...``: finds the command, turns errors into messages and exit codes.

Exit codes: 0 done; 1 it failed, or the program asked for it; 2 the command line makes no sense; 130 interrupted
before anything ran.
"""

from __future__ import annotations

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
    "completion": ("completion", "print shell completion for bash, zsh or fish"),
}

USAGE = """usage: probescope COMMAND [ARG ...]

{commands}

examples:
  probescope run -e 'tracepoint:raw_syscalls:sys_enter {{ @[comm] = count(); }}'
  probescope list 'tracepoint:sched:*'
  probescope explain kprobe:vfs_read
  probescope doctor

'probescope COMMAND --help' says more about one of them.
"""


def usage() -> str:
    return USAGE.format(commands="\n".join(f"  {name:<12}{about}" for name, (_, about) in COMMANDS.items()))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code. Never raises for anything a user can do."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        return _help(args[1:])
    if args[0] in ("-V", "--version", "version"):
        from probescope._version import __version__

        sys.stdout.write(f"probescope {__version__}\n")
        return 0
    if args[0] not in COMMANDS:
        return _unknown(args[0])
    return guarded(lambda: _command(args[0])(args[1:]))


def _help(rest: list[str]) -> int:
    if rest and rest[0] in COMMANDS:
        return main([rest[0], "--help"])
    sys.stdout.write(usage())
    return 0


def _command(name: str) -> Callable[[list[str]], int]:
    from importlib import import_module

    entry: Callable[[list[str]], int] = import_module(f"probescope.cli.{COMMANDS[name][0]}").main
    return entry


def _unknown(word: str) -> int:
    from probescope.diagnostics import nearest

    near = nearest(word, COMMANDS)
    hint = f"did you mean '{near[0]}'?" if near else "probescope --help lists the commands"
    sys.stderr.write(f"ERROR: there is no command '{word}'\nHINT: {hint}\n")
    return 2


def guarded(run: Callable[[], int]) -> int:
    """Runs a command; errors become messages on stderr. With PROBESCOPE_DEBUG set, tracebacks are shown too."""
    from probescope.errors import ProbescopeError

    try:
        return run()
    except ProbescopeError as e:
        if os.environ.get("PROBESCOPE_DEBUG"):
            raise
        sys.stderr.write(error_text(e))
        return e.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output is gone: nothing is wrong, and nothing more can be said
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141


def error_text(e: Exception) -> str:
    """Diagnostics with their carets, or what, where and hints."""
    from probescope.diagnostics import render_all
    from probescope.errors import InternalError, ProbescopeError, ScriptError

    color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    if isinstance(e, ScriptError):
        return render_all(e.diagnostics, color=color) + "\n"
    hints = list(e.hints) if isinstance(e, ProbescopeError) else []
    if isinstance(e, InternalError):
        hints.append("this is a bug in probescope: please report it with the program that led to it")
    label = "\x1b[31mERROR\x1b[0m" if color else "ERROR"
    return "".join([f"{label}: {e}\n", *(f"HINT: {h}\n" for h in hints)])


if __name__ == "__main__":
    sys.exit(main())
