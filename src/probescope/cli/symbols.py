"""Options on names, the same in every command that reads a recording."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from probescope.errors import FormatError, UsageError

if TYPE_CHECKING:
    import argparse

    from probescope.collect.recorded.search import Demangle, Search
    from probescope.formats.symbolfile import SymbolFile


def add_symbols(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("names")
    g.add_argument("--symfs", metavar="DIR", help="look for files below this folder, as if it were /")
    g.add_argument("-k", "--vmlinux", metavar="FILE", help="take the kernel's names from this file")
    g.add_argument("--kallsyms", metavar="FILE", help="the same of a copy of /proc/kallsyms")
    about = "names of C++ and Rust: short (without parameters, default), full, none"
    g.add_argument(
        "--demangle", choices=("short", "full", "none"), nargs="?", const="short", default="short", help=about
    )
    g.add_argument(
        "--no-demangle", dest="demangle", action="store_const", const="none", help="names as files have them"
    )
    g.add_argument("--inline", action="store_true", default=True, help="calls that were inlined are frames (default)")
    g.add_argument("--no-inline", dest="inline", action="store_false", help="only functions with frames of their own")
    about = "fetch missing debug files, from URL or the servers in DEBUGINFOD_URLS"
    g.add_argument("--debuginfod", metavar="URL", nargs="?", const="", help=about)
    g.add_argument("--force", action="store_true", help="read what other users' JIT compilers wrote in /tmp, too")


def search_of(args: argparse.Namespace, name: str, *, lines: bool = False, bare: bool = False) -> Search:
    """``name``: of the recording; ``lines``: source lines of frames are wanted; ``bare``: nobody looks at them. Raises
    UsageError."""
    from probescope.collect.recorded.search import Search

    for option in ("vmlinux", "kallsyms"):
        path = getattr(args, option)
        if path and not os.path.exists(path):
            raise UsageError(f"there is no file {path}", hints=[f"--{option} FILE"])
    if args.symfs and not os.path.isdir(args.symfs):
        raise UsageError(f"there is no folder {args.symfs}", hints=["--symfs DIR"])
    given: dict[str, object] = {}
    if args.debuginfod is not None:
        given["fetch"] = _client(args.debuginfod)
    return Search(
        symfs=(args.symfs or "").rstrip("/"),
        vmlinux=args.vmlinux or "",
        kallsyms=args.kallsyms or "",
        saved=saved_beside(name),
        demangle=cast("Demangle", args.demangle),
        inline=args.inline,
        lines=lines,
        bare=bare,
        force=args.force,
        **given,  # type: ignore[arg-type]
    )


def plain_search(name: str) -> Search:
    """What commands without such options go by."""
    from probescope.collect.recorded.search import Search

    return Search(saved=saved_beside(name), demangle="short", inline=True)


def saved_beside(name: str) -> SymbolFile | None:
    """The tables that were saved beside a recording."""
    from probescope.formats.symbolfile import SUFFIX, SymbolFile

    try:
        return SymbolFile.beside(name)
    except (OSError, FormatError) as e:
        what = e.what if isinstance(e, FormatError) else e.strerror
        sys.stderr.write(f"WARNING: {name.rstrip('/')}{SUFFIX} cannot be used: {what}\n")
        return None


def _client(option: str) -> object:
    from probescope.kernel.debuginfod import Client, cache_folder, servers

    def told(what: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"fetching {what}\n")

    urls = servers(option, os.environ.get("DEBUGINFOD_URLS", ""))
    return Client(urls, cache_folder(os.environ), told).fetch
