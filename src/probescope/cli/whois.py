"""``probescope whois``: from a message, an address, a source line or an error to the function."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from probescope.cli.numbers import whole
from probescope.cli.parsing import Named, Parser, a_name, add_format, how_many, process_id
from probescope.errors import DwarfError, ElfError, UsageError

if TYPE_CHECKING:
    from probescope.views.whois.images import Image, Program
    from probescope.views.whois.search import Finding, Unused

EXAMPLES = """examples:
  probescope whois 'cannot access %s' -x ls            a format, or a part of one
  probescope whois "bash: foo: command not found" -x bash
  probescope whois 'no such table' -p 312             all files of a process
  probescope whois 'Out of memory: Killed process'      the kernel and its modules
  probescope whois 0xffffffff81234567                   an address of the kernel
  probescope whois 0x1234 -x PROGRAM                    an address of a file
  probescope whois parse.c:120 -x PROGRAM               a source line
  probescope whois --returns ENOSPC --in 'ext4_*'       who returns an error
  probescope whois openat                               a system call
"""
_LINE = re.compile(r"(?P<path>[\w./+-]+\.[A-Za-z+]{1,4}):(?P<line>\d{1,7})\Z")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}\Z")
KERNEL_HALF = 1 << 63


def parser() -> Parser:
    p = Parser("whois", "Find the function behind a message, an address, a source line or an error.", EXAMPLES)
    p.add_argument("what", nargs="*", metavar="WHAT", help="a message or a part of it, 0xADDRESS, FILE:LINE, a call")
    p.add_argument(
        "-x", "--exec", type=a_name, action="append", default=[], metavar="FILE", help="in this program or library"
    )
    p.add_argument("-p", "--pid", type=process_id, metavar="PID", help="in all files that a process runs")
    p.add_argument("-k", "--kernel", action="store_true", help="in the kernel: that is what is searched without -x, -p")
    p.add_argument("--vmlinux", action=Named, metavar="FILE", default="", help="the kernel's file: vmlinuz or vmlinux")
    p.add_argument(
        "-m", "--module", type=a_name, action="append", default=[], metavar="NAME", help="in this kernel module"
    )
    p.add_argument("--returns", metavar="ERROR", help="functions with code that returns -ERROR: ENOSPC, -28")
    p.add_argument("--in", dest="functions", default="*", metavar="GLOB", help="only in these functions")
    p.add_argument(
        "-n", "--most", type=how_many, default=10, metavar="N", help="as many messages, or functions (0: all)"
    )
    add_format(p, "text (default) or json, one document a line")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_intermixed_args(_errors_joined(argv))
    if not args.what and not args.returns:
        raise UsageError("what is looked for?", hints=["a message, 0xADDRESS, FILE:LINE, or --returns ERROR"])
    what = " ".join(args.what)
    if args.returns:
        return _returns(args)
    if _ADDRESS.match(what):
        return _address(args, int(what, 16))
    line = _LINE.match(what)
    if line is not None and (args.exec or args.pid):
        return _source(args, line["path"], int(line["line"]))
    if not (args.exec or args.pid or args.kernel or args.vmlinux or args.module) and what.isidentifier():
        done = _system_call(what, args)
        if done:
            return 0
    return _message(args, what)


def _errors_joined(argv: list[str]) -> list[str]:
    """``--returns -ENOSPC`` in one word: what begins with a dash would be an option."""
    out: list[str] = []
    for word in argv:
        if out and out[-1] == "--returns" and word.startswith("-"):
            out[-1] = f"--returns={word}"
        else:
            out.append(word)
    return out


def _named(args: Namespace) -> list[Program]:
    from probescope.views.whois import subjects

    named = [subjects.program(name) for name in args.exec]
    return named + (subjects.of_process(args.pid) if args.pid else [])


def _images(args: Namespace) -> Iterable[Image]:
    """What is searched, one after the other."""
    from probescope.views.whois import subjects

    named = _named(args)
    yield from named
    if args.kernel or args.vmlinux or (not named and not args.module):
        try:
            yield subjects.kernel(args.vmlinux)
        except UsageError as e:
            meant = args.kernel or args.vmlinux
            raise UsageError(e.what, hints=[*([] if meant else _said_by(" ".join(args.what))), *e.hints]) from e
    if args.module or (not args.exec and not args.pid and not args.vmlinux):
        yield from subjects.modules(args.module)


def _message(args: Namespace, what: str) -> int:
    from probescope.debuginfo.messages import Pattern
    from probescope.views.whois import search, subjects

    try:
        pattern = Pattern(what)
    except ValueError as e:
        raise UsageError(str(e), hints=["more of the message, without what differs from time to time"]) from e
    found: list[Finding | Unused] = []
    for image in _images(args):
        found += search.messages(image, pattern, args.most or sys.maxsize)
    if not any(search.good(f) for f in found):
        for of in [subjects.program(name) for name in args.exec]:
            for library in subjects.libraries(of):
                found += search.messages(library, pattern, args.most or sys.maxsize)
    found = [f for f in search.best(found, args.most or sys.maxsize) if _in(f, args.functions)]
    if not found:
        raise UsageError(f"no message like '{what}' was found", hints=_elsewhere(args))
    return _show(found, args)


def _in(f: Finding | Unused, glob: str) -> bool:
    from fnmatch import fnmatchcase

    from probescope.views.whois.search import Finding

    return glob == "*" or (isinstance(f, Finding) and fnmatchcase(f.where.plain, glob))


def _said_by(what: str) -> list[str]:
    """Hints where a message was looked for in the kernel only, but a program's name stands before it."""
    import errno
    import shutil

    if what.upper() in errno.errorcode.values():
        return [f"who returns it: probescope whois --returns {what.upper()}"]
    name, colon, _ = what.partition(": ")
    name = name.strip()
    if not colon or "/" in name or " " in name or shutil.which(name) is None:
        return ["-x PROGRAM or -p PID search programs"]
    return [f"a message of a program: -x {name}"]


def _elsewhere(args: Namespace) -> list[str]:
    if args.exec:
        return ["a shorter part of it, without names and numbers", "-p PID searches all files of a process"]
    return ["a shorter part of it, without names and numbers", *_said_by(" ".join(args.what))]


def _show(found: Sequence[Finding | Unused], args: Namespace) -> int:
    from probescope.views.whois import text

    if args.format == "json":
        import json

        from probescope.model.visible import visible_json

        sys.stdout.write("".join(visible_json(json.dumps(text.document(f))) + "\n" for f in found))
    else:
        sys.stdout.write(text.told(found))
    return 0


def _address(args: Namespace, address: int) -> int:
    from probescope.views.whois import places, subjects
    from probescope.views.whois.kernel import Kernel

    if args.pid and address < KERNEL_HALF:
        image, address = subjects.mapped(args.pid, address)
        found = [places.by_address(image, address)]
    elif args.exec:
        found = [places.by_address(p, address) for p in _named(args)]
    else:
        kernel = subjects.kernel(args.vmlinux) if args.vmlinux else subjects.names_only()
        linked = kernel.linked(address) if isinstance(kernel, Kernel) else address
        found = [places.in_kernel(kernel, linked)]
    known = [f for f in found if f is not None]
    if not known:
        raise UsageError(f"there is no code at {address:#x}", hints=["-x FILE, -p PID: addresses of a program"])
    return _show(known, args)


def _source(args: Namespace, path: str, line: int) -> int:
    from probescope.views.whois import places

    found: list[Finding] = []
    failed: list[DwarfError | ElfError] = []
    programs = _named(args)
    for program in programs:
        try:
            found += places.by_line(program, path, line)
        except (DwarfError, ElfError) as e:
            failed.append(e)
    if not found and failed:
        raise failed[0]
    if not found:
        raise UsageError(f"no code comes from {path}:{line}", hints=places.near(programs, path, line))
    return _show(found, args)


def _returns(args: Namespace) -> int:
    from probescope.views.whois import places, text

    name, number = _error(args.returns)
    none = True
    for image in _images(args):
        found = places.returning(image, number, args.functions)
        if not found:
            continue
        none = False
        if args.format == "json":
            _json_returns(image, name, found)
        else:
            sys.stdout.write(text.returns(image, name, number, found, args.most or sys.maxsize))
    if none:
        raise UsageError(f"no code was found that returns -{name}", hints=["--in GLOB chooses functions"])
    return 0


def _json_returns(image: Image, name: str, found: Sequence[tuple[object, list[int]]]) -> None:
    import json

    from probescope.views.whois.images import Where

    for where, at in found:
        if isinstance(where, Where):
            row = {"file": image.title, "error": name, "function": where.plain or None, "addresses": at}
            sys.stdout.write(json.dumps({**row, "probe": image.probe(where)}) + "\n")


def _error(text: str) -> tuple[str, int]:
    """``ENOSPC``, ``-ENOSPC``, ``28``. Raises UsageError."""
    import errno

    from probescope.diagnostics import nearest

    word = text.lstrip("-").upper()
    known = whole(word, 1, 4095)
    if known is not None:
        return errno.errorcode.get(known, word), known
    number = getattr(errno, word, None) if word.isidentifier() else None
    if not isinstance(number, int):
        near = nearest(word, errno.errorcode.values())
        raise UsageError(f"'{text}' is not an error number", hints=[f"did you mean {n}?" for n in near] or ["ENOSPC"])
    return word, number


def _system_call(name: str, args: Namespace) -> bool:
    """Whether it is one, which was told then."""
    from probescope.collect.host import arch
    from probescope.views.whois import calls

    call = calls.known(name, arch().name)
    if call is None:
        return False
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps(calls.document(call)) + "\n")
    else:
        sys.stdout.write(calls.told(call))
    return True
