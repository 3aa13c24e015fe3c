"""``probescope ftrace COMMAND ...``: trace-cmd's commands, in buffers of our own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.cli.parsing import Parser

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module, what it does)
    "record": ("ftrace_record", "record events and functions into a trace.dat"),
    "report": ("ftrace_report", "print what a trace.dat holds"),
    "start": ("ftrace_started", "start tracing, and leave it on"),
    "set": ("ftrace_started", "change what was started"),
    "stop": ("ftrace_started", "stop recording into the buffers"),
    "restart": ("ftrace_started", "record into them again"),
    "clear": ("ftrace_started", "empty them"),
    "extract": ("ftrace_started", "write what they hold into a trace.dat"),
    "reset": ("ftrace_started", "end what was started, and put everything back"),
    "show": ("ftrace_look", "print what the buffers hold, in the kernel's own words"),
    "stream": ("ftrace_stream", "trace and print at once, until ^C"),
    "snapshot": ("ftrace_look", "take, print or free a snapshot"),
    "stat": ("ftrace_look", "show what was started, and how full it is"),
    "mark": ("ftrace_look", "write a line of your own among the events"),
    "stack": ("ftrace_look", "the deepest stack that the kernel has had"),
    "list": ("ftrace_list", "list events, tracers, functions, options, clocks, buffers"),
    "dump": ("ftrace_dump", "show what a trace.dat is made of"),
    "split": ("ftrace_files", "cut a trace.dat into smaller ones"),
    "convert": ("ftrace_files", "another version, another compression"),
    "restore": ("ftrace_files", "a trace.dat of what a killed recorder left"),
    "check-events": ("ftrace_files", "which events cannot be printed as they should"),
}
INSTEAD = {
    "profile": "probescope flame --off-cpu, and probescope latency A to B, show what tasks wait for",
    "hist": "probescope report and run -i trace.dat -e '... { @[comm] = count(); }' sum up",
    "mem": "probescope run -i trace.dat -e 'tracepoint:kmem:kmalloc { @[comm] = sum(args.bytes_alloc); }'",
    "options": "forms of events have no options; probescope ftrace list -o lists those of ftrace",
    "listen": "run ftrace record on each machine, by ssh, and copy the files",
    "agent": "run ftrace record on each machine, by ssh, and copy the files",
    "setup-guest": "run ftrace record in the guest, by ssh, and copy the file",
    "attach": "run ftrace record on both machines with -C mono; probescope export shifts nothing",
    "sqlhist": "probescope latency A to B",
    "record-agent": "run ftrace record on each machine, by ssh, and copy the files",
    "graph": "probescope graph FUNCTION -- COMMAND",
}
EXAMPLES = """examples:
  probescope ftrace record -e sched -- sleep 1
"""
USAGE = """usage: probescope ftrace COMMAND [ARG ...]

trace-cmd's commands and options. Nothing is done to the top buffer of ftrace, nor to anybody else's.

{commands}

{examples}
'probescope ftrace COMMAND --help' says more about one of them.
"""


def usage() -> str:
    return USAGE.format(
        commands="\n".join(f"  {name:<14}{about}" for name, (_, about) in COMMANDS.items()), examples=EXAMPLES
    )


def parser() -> Parser:
    """With every option of every command, for shells to complete."""
    from probescope.cli.parsing import Parser

    p = Parser("ftrace", "trace-cmd's commands.", EXAMPLES)
    seen = {"-h", "--help"}
    for name in COMMANDS:
        for action in _module(name).parser(name)._actions:
            fresh = [o for o in action.option_strings if o not in seen]
            if fresh:
                seen.update(fresh)
                if action.nargs == 0:
                    p.add_argument(*fresh, action="store_true", help=action.help)
                else:
                    p.add_argument(*fresh, choices=action.choices, help=action.help)
    return p


def parse_arguments(argv: Sequence[str]) -> Any:
    """Of a command and its arguments: what its own parser makes of them."""
    return _module(argv[0]).parse(argv[0], argv[1:])


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
    if command in ("-V", "--version", "version"):
        from probescope._version import __version__

        sys.stdout.write(f"probescope {__version__}\n")
        return 0
    if command not in COMMANDS:
        raise _unknown(command)
    run: Callable[..., int] = _module(command).main
    return run(command, argv[1:])


def _unknown(word: str) -> UsageError:
    from probescope.diagnostics import nearest

    if word in INSTEAD:
        return UsageError(f"probescope ftrace has no {word}", hints=[INSTEAD[word]])
    near = nearest(word, [*COMMANDS, *INSTEAD], most=1)
    hint = f"did you mean '{near[0]}'?" if near else "probescope ftrace --help lists the commands"
    return UsageError(f"there is no command 'ftrace {word}'", hints=[hint])
