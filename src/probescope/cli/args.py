"""``probescope args``: the arguments of a function, declared or guessed."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, a_name, add_format, cut_command, how_long, how_many, of_nobody, process_id
from probescope.errors import ProbescopeError, ScriptError, UsageError

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary, FunctionSite
    from probescope.debuginfo.guess_args import Guess
    from probescope.model.site import Site
    from probescope.views.arguments.sampled import Looks

EXAMPLES = """examples:
  probescope args readline -x bash            declared, if debug information is there, or else guessed
  probescope args 0x4f20 -x /usr/sbin/nginx   a function without a name
  probescope args 0x4f20 -x /usr/sbin/nginx -p 312   with values that are passed while it runs
  probescope args parse_config -x ./server -- ./server -t   with values that are passed while the command runs
  probescope args vfs_read                    of the kernel, by its BTF
"""
HITS = 100
WAIT = 10.0


def parser() -> Parser:
    p = Parser(
        "args", "Show the arguments of a function: as declared, or guessed from code and values.", EXAMPLES, runs=True
    )
    p.add_argument("function", metavar="FUNCTION", help="a name, or 0xADDRESS in the file")
    p.add_argument("-x", "--exec", type=a_name, metavar="FILE", help="in this program or library; the kernel without")
    p.add_argument("-p", "--pid", type=process_id, metavar="PID", help="look at what is passed in this process")
    p.add_argument("-c", "--command", metavar="COMMAND", help="run this, and look at what is passed: as -- COMMAND")
    p.add_argument("-n", "--hits", type=how_many, default=HITS, metavar="N", help=f"look at as many calls ({HITS})")
    p.add_argument(
        "--timeout", type=how_long, default=WAIT, metavar="SECONDS", help=f"wait for them at most ({WAIT:g})"
    )
    p.add_argument("--guess", action="store_true", help="from machine code, even where it is declared")
    add_format(p)
    return p


def parse_arguments(argv: list[str]) -> Namespace:
    words, behind = cut_command(argv)
    args = parser().parse_args(words)
    args.behind = behind
    return args


def main(argv: list[str]) -> int:
    args = parse_arguments(argv)
    args.command = _command(args.command or "", args.behind)
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
        values, hits = _passed(probe, args) if args.pid or args.command else ([], 0)
        return _show_declared(function.name, declared, values, hits, args)
    if found.binary.elf.machine != "x86_64":
        why = f"{function.name} is not declared, and code of {found.binary.elf.machine} is not guessed from"
        raise UsageError(why, hints=["build it with -g"])
    guess = Guesser(BinaryCode(found.binary).code()).guess(function.address)
    looks, hits = _sampled(probe, guess, args) if args.pid or args.command else ([], 0)
    _show(function.name, guess, looks, hits, args)
    return 0


def _command(line: str, behind: Sequence[str]) -> str:
    """What -c says, or what stands behind ``--``. Raises UsageError."""
    import shlex

    from probescope.cli.parsing import command_words

    if line and behind:
        raise UsageError("there are two commands", hints=["-c COMMAND, or -- COMMAND"])
    return line or shlex.join(command_words(behind))


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
    try:
        return _site(probe)[1]
    except (ProbescopeError, IndexError):
        return []


def _site(probe: str, *, fields: bool = False) -> tuple[Site, list[str]]:
    """What is probed, and its arguments as they are declared. ``fields``: with where they are."""
    from probescope.api import parse_probe, resolve_context
    from probescope.sources import registry

    ctx = resolve_context()
    ctx.need_fields = fields
    site = registry.resolve(parse_probe(probe), ctx)[0]
    return site, registry.describe(site, ctx)


def _kernel(args: Namespace) -> int:
    if args.pid or args.command or args.guess:
        raise UsageError("values and code are looked at in programs: -x FILE", hints=["probescope list -v kprobe:NAME"])
    declared = _declared(f"fentry:{args.function}") or _declared(f"kprobe:{args.function}")
    if not declared:
        raise _undeclared(args.function)
    return _show_declared(args.function, declared, [], 0, args)


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


def _show_declared(name: str, lines: list[str], values: list[tuple[str, ...]], hits: int, args: Namespace) -> int:
    from probescope.views.arguments import text

    looked = bool(args.pid or args.command)
    if args.format == "json":
        import json

        seen = {"values": values, "hits": hits} if looked else {}
        sys.stdout.write(json.dumps({"function": name, "source": "declaration", "arguments": lines} | seen) + "\n")
        return 0
    sys.stdout.write(text.told_declared(name, lines, values))
    _say_if_uncalled(hits, args)
    return 0


def _show(name: str, guess: Guess, looks: Sequence[Looks], hits: int, args: Namespace) -> None:
    from probescope.views.arguments import text

    if args.format == "json":
        import json

        sys.stdout.write(json.dumps(text.document(name, guess, looks, hits)) + "\n")
        return
    sys.stdout.write(text.told(name, guess, looks, hits))
    _say_if_uncalled(hits, args)


def _say_if_uncalled(hits: int, args: Namespace) -> None:
    if (args.pid or args.command) and not hits:
        sys.stdout.flush()
        sys.stderr.write(f"WARNING: it was not called (--timeout {args.timeout:g}): no values were seen\n")


def _sampled(probe: str, guess: Guess, args: Namespace) -> tuple[list[Looks], int]:
    """What is passed, and how often it was called."""
    from probescope.views.arguments import sampled

    rows = _rows(probe, sampled.registers(guess.integers), args)
    return [sampled.looks(column) for column in zip(*rows, strict=True)], len(rows)


def _passed(probe: str, args: Namespace) -> tuple[list[tuple[str, ...]], int]:
    """Values of each argument that is declared, and how often it was called."""
    from probescope.model.types import Int
    from probescope.views.arguments import sampled
    from probescope.views.peel import subject

    site, lines = _site(probe, fields=True)
    unsigned = {f.name for f in site.fields if isinstance(f.type, Int) and not f.type.signed}
    arguments = subject.declared(site, lines)
    rows = _rows(probe, [(a.keys[0], (*a.keys, '""')[1]) for a in arguments if a.keys], args)
    columns = zip(*rows, strict=True) if rows else iter(())
    out = [
        sampled.declared(a.kind, next(columns, ()), signed=a.name not in unsigned) if a.keys else () for a in arguments
    ]
    return out + [()] * (len(lines) - len(out)), len(rows)


def _rows(probe: str, asked: Sequence[tuple[str, str]], args: Namespace) -> list[list[tuple[int, str]]]:
    """What is passed while the process, or the command, runs, by call; Ctrl-C ends it sooner."""
    from probescope.api import Request, build
    from probescope.live import LiveSession
    from probescope.model.output import Text
    from probescope.views.arguments import sampled

    if not asked:
        return []
    text = sampled.program(probe, asked, args.hits)
    try:
        built = build(Request(text, name="args", pid=args.pid or 0, command=args.command, signals=True))
    except ScriptError as e:
        raise of_nobody(e) from None
    with LiveSession(built) as session:
        printed = "".join(o.text for o in session.wait(args.timeout) if isinstance(o, Text))
    return sampled.rows(printed.splitlines(), len(asked))
