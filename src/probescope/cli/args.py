"""``probescope args``: the arguments of a function, declared or guessed."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, add_format, how_long, how_many, process_id
from probescope.errors import ProbescopeError, UsageError

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary, FunctionSite
    from probescope.debuginfo.guess_args import Guess
    from probescope.views.arguments.sampled import Looks

EXAMPLES = """examples:
  probescope args readline -x bash            declared, if debug information is there, or else guessed
  probescope args 0x4f20 -x /usr/sbin/nginx   a function without a name
  probescope args 0x4f20 -x /usr/sbin/nginx -p 312   with values that are passed while it runs
  probescope args vfs_read                    of the kernel, by its BTF
"""
HITS = 100
WAIT = 10.0


def parser() -> Parser:
    p = Parser("args", "Show the arguments of a function: as declared, or guessed from code and values.", EXAMPLES)
    p.add_argument("function", metavar="FUNCTION", help="a name, or 0xADDRESS in the file")
    p.add_argument("-x", "--exec", metavar="FILE", help="in this program or library; the kernel without")
    p.add_argument("-p", "--pid", type=process_id, metavar="PID", help="look at what is passed in this process")
    p.add_argument("-c", "--command", metavar="COMMAND", help="run this, and look at what is passed")
    p.add_argument("-n", "--hits", type=how_many, default=HITS, metavar="N", help=f"look at as many calls ({HITS})")
    p.add_argument(
        "--timeout", type=how_long, default=WAIT, metavar="SECONDS", help=f"wait for them at most ({WAIT:g})"
    )
    p.add_argument("--guess", action="store_true", help="from machine code, even where it is declared")
    add_format(p)
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    if not args.exec:
        return _kernel(args)
    from probescope.debuginfo.guess_args import Guesser
    from probescope.lang.bt.pointtext import part
    from probescope.views.arguments.code import BinaryCode
    from probescope.views.whois.subjects import program

    found = program(args.exec)
    function = _function(found.binary, args.function)
    probe = f"uprobe:{part(found.title)}:{function.name if _plain(function.name) else hex(function.address)}"
    declared = [] if args.guess else _declared(probe)
    if declared:
        return _show_declared(function.name, declared, args)
    if found.binary.elf.machine != "x86_64":
        why = f"{function.name} is not declared, and code of {found.binary.elf.machine} is not guessed from"
        raise UsageError(why, hints=["build it with -g"])
    guess = Guesser(BinaryCode(found.binary).code()).guess(function.address)
    looks, hits = _sampled(probe, guess, args) if args.pid or args.command else ([], 0)
    _show(function.name, guess, looks, hits, args)
    return 0


def _plain(name: str) -> bool:
    return name.replace("_", "a").isalnum() and not name.startswith("0x")


def _function(binary: Binary, text: str) -> FunctionSite:
    """By name, or by address. Raises UsageError."""
    from probescope.debuginfo.binary import FunctionSite

    if text.startswith("0x"):
        try:
            address = int(text, 16)
        except ValueError:
            raise UsageError(f"'{text}' is not an address") from None
        offset = binary.elf.to_offset(address)
        if offset is None:
            raise UsageError(f"there is nothing at {text} in {binary.path}")
        return FunctionSite(text, offset, address, 0)
    site = binary.function(text) or next(iter(binary.demangled(text)), None)
    if site is None:
        from probescope.sources.uprobe import inlined_hints

        hints = inlined_hints(text, binary, binary.path) or binary.suggestions(text)
        raise UsageError(f"no function {text} in {binary.path}", hints=hints)
    return site


def _declared(probe: str) -> list[str]:
    """What debug information or BTF says, a line an argument; empty where nothing does."""
    from probescope.api import parse_probe, resolve_context
    from probescope.sources import registry

    ctx = resolve_context()
    try:
        return registry.describe(registry.resolve(parse_probe(probe), ctx)[0], ctx)
    except (ProbescopeError, IndexError):
        return []


def _kernel(args: Namespace) -> int:
    if args.pid or args.command or args.guess:
        raise UsageError("values and code are looked at in programs: -x FILE", hints=["probescope list -v kprobe:NAME"])
    declared = _declared(f"fentry:{args.function}") or _declared(f"kprobe:{args.function}")
    if not declared:
        raise _undeclared(args.function)
    return _show_declared(args.function, declared, args)


def _undeclared(name: str) -> UsageError:
    from probescope.sources import kernel_btf, kernel_functions
    from probescope.sources.kprobe import nearest_function

    if kernel_btf.functions() is None:
        why = f"nothing declares {name}: this kernel has no BTF (/sys/kernel/btf/vmlinux)"
        return UsageError(why, hints=["-x FILE looks in a program"])
    if kernel_functions.find_symbol(name) is None:
        near = nearest_function(name, kernel_functions.names())
        hints = [f"did you mean {n}?" for n in near] or ["-x FILE looks in a program"]
        return UsageError(f"there is no function {name} in the kernel", hints=hints)
    why = "the kernel's BTF lacks assembler, and what compilers inlined or changed"
    hints = [f"probescope probe '{name} $arg1 $arg2' shows registers by the calling convention"]
    return UsageError(f"nothing declares {name}: {why}", hints=hints)


def _show_declared(name: str, declared: list[str], args: Namespace) -> int:
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps({"function": name, "source": "declaration", "arguments": declared}) + "\n")
    else:
        sys.stdout.write(f"{name}: declared\n" + "".join(f"  {line}\n" for line in declared))
    return 0


def _show(name: str, guess: Guess, looks: Sequence[Looks], hits: int, args: Namespace) -> None:
    from probescope.views.arguments import text

    if args.format == "json":
        import json

        sys.stdout.write(json.dumps(text.document(name, guess, looks, hits)) + "\n")
        return
    sys.stdout.write(text.told(name, guess, looks, hits))
    if (args.pid or args.command) and not hits:
        sys.stdout.flush()
        sys.stderr.write(f"WARNING: it was not called (--timeout {args.timeout:g}): no values were seen\n")


def _sampled(probe: str, guess: Guess, args: Namespace) -> tuple[list[Looks], int]:
    """What is passed while the process, or the command, runs."""
    from probescope import api
    from probescope.model.output import Text
    from probescope.views.arguments import sampled

    if not guess.integers:
        return [], 0
    script = sampled.program(probe, guess.integers, args.hits)
    with api.run(script, pid=args.pid or 0, command=args.command or "") as session:
        printed = "".join(o.text for o in session.wait(args.timeout) if isinstance(o, Text))
    rows = sampled.rows(printed.splitlines(), guess.integers)
    return [sampled.looks([row[i] for row in rows]) for i in range(min(guess.integers, 6))], len(rows)
