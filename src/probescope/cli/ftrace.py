"""``probescope ftrace COMMAND ...``: trace-cmd's commands, in buffers of our own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.cli.parsing import Parser

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module, what it does)
    "record": ("ftrace_record", "record events and functions into a trace.dat"),
}
INSTEAD = {
    "profile": "probescope flame --off-cpu, and probescope latency A to B, show what tasks wait for",
    "hist": "probescope report and run -i trace.dat -e '... { @[comm] = count(); }' sum up",
    "mem": "probescope run -i trace.dat -e 'tracepoint:kmem:kmalloc { @[comm] = sum(args.bytes_alloc); }'",
    "listen": "run ftrace record on each machine, by ssh, and copy the files",
    "agent": "run ftrace record on each machine, by ssh, and copy the files",
    "setup-guest": "run ftrace record in the guest, by ssh, and copy the file",
    "attach": "run ftrace record on both machines with -C mono; probescope export shifts nothing",
    "sqlhist": "probescope latency A to B",
    "graph": "probescope graph FUNCTION -- COMMAND",
}
USAGE = """usage: probescope ftrace COMMAND [ARG ...]

trace-cmd's commands and options. Nothing is done to the top buffer of ftrace, nor to anybody else's.

{commands}

examples:
  probescope ftrace record -e sched -- sleep 1
  probescope ftrace report
  probescope ftrace start -e sched:sched_switch; probescope ftrace show; probescope ftrace reset

'probescope ftrace COMMAND --help' says more about one of them.
"""


def usage() -> str:
    return USAGE.format(commands="\n".join(f"  {name:<14}{about}" for name, (_, about) in COMMANDS.items()))


def parser() -> Parser:
    """With every option of every command, for shells to complete."""
    from probescope.cli.parsing import Parser

    p = Parser("ftrace", "trace-cmd's commands.", "", add_help=False)
    seen: set[str] = set()
    for name in COMMANDS:
        for action in _module(name).parser(name)._actions if _named(name) else _module(name).parser()._actions:
            fresh = [o for o in action.option_strings if o not in seen]
            if fresh:
                seen.update(fresh)
                kept = p.add_argument(*fresh, nargs=action.nargs if action.nargs == 0 else None, help=action.help)
                kept.choices = action.choices
    return p


def _named(command: str) -> bool:
    return command != COMMANDS[command][0].removeprefix("ftrace_")


def _module(command: str) -> Any:
    from importlib import import_module

    return import_module(f"probescope.cli.{COMMANDS[command][0]}")


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        if len(argv) > 1 and argv[1] in COMMANDS:
            return main([argv[1], "--help"])
        sys.stdout.write(usage())
        return 0
    command = argv[0]
    if command not in COMMANDS:
        raise _unknown(command)
    run: Callable[..., int] = _module(command).main
    return run(command, argv[1:]) if _named(command) else run(argv[1:])


def _unknown(word: str) -> UsageError:
    from probescope.diagnostics import nearest

    if word in INSTEAD:
        return UsageError(f"probescope ftrace has no {word}", hints=[INSTEAD[word]])
    near = nearest(word, [*COMMANDS, *INSTEAD], most=1)
    hint = f"did you mean '{near[0]}'?" if near else "probescope ftrace --help lists the commands"
    return UsageError(f"there is no command 'ftrace {word}'", hints=[hint])
