"""Output options of ``probescope run``: which view shows what a session says."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.cli.writer import View
    from probescope.ir.program import Program
    from probescope.model.format import Format

FORMATS = {
    "text": "what the program prints",
    "json": "one document a line",
    "json-array": "one document",
    "folded": "stacks, for flame graphs",
}
STYLES = ("lines", "table", "csv", "tsv")


def add_output_options(p: argparse.ArgumentParser) -> None:
    from probescope.cli.parsing import offers

    p.add_argument(
        "-f",
        "--format",
        default="text",
        type=_known,
        choices=tuple(FORMATS),
        metavar="FORMAT",
        help=", ".join(f"{name}: {about}" for name, about in FORMATS.items()),
    )
    maps = p.add_argument(
        "--map-format",
        action="append",
        default=[],
        metavar="STYLE|@MAP=FORMAT",
        help=f"how maps are printed: {', '.join(STYLES)}; or one map by a printf format of its key and value",
    )
    offers(maps, STYLES)
    p.add_argument("-o", "--output", metavar="FILE", help="write output to a file")
    p.add_argument("--raw", action="store_true", help="control characters go to a terminal too, as they do to files")
    p.add_argument("-B", dest="buffering", choices=("line", "full", "none"), default="line", help="output buffering")
    p.add_argument("-q", "--quiet", action="store_true", help="only what the program prints")
    p.add_argument("-k", dest="everything", action="store_true", help="tell of failed reads and the like too")
    p.add_argument("--no-warnings", action="store_true", help="no warnings")


def _known(text: str) -> str:
    if text not in FORMATS:
        raise UsageError(
            f'Invalid output format "{text}"', hints=["Valid formats: " + ", ".join(f"'{f}'" for f in FORMATS)]
        )
    return text


def view(args: argparse.Namespace, program: Program) -> View:
    """Raises UsageError for a format that does not suit its map."""
    quiet, no_warnings = args.quiet, args.no_warnings
    if args.format in ("json", "json-array"):
        from probescope.views.json import JsonView

        return JsonView(quiet=quiet, no_warnings=no_warnings, array=args.format == "json-array")
    if args.format == "folded":
        return _folded(program, quiet=quiet, no_warnings=no_warnings)
    from probescope.views.text import TextView

    style, formats = map_formats(args.map_format, program)
    if style == "lines" and not formats:
        if args.as_bpftrace:
            return TextView(quiet=quiet, no_warnings=no_warnings, ending="\n\n", always_ends=not args.mode)
        return TextView(quiet=quiet, no_warnings=no_warnings)
    from probescope.views.maptext import MapTexts

    return TextView(quiet=quiet, no_warnings=no_warnings, maps=MapTexts(style, formats))


def _folded(program: Program, *, quiet: bool, no_warnings: bool) -> View:
    from probescope.views.folded import FoldedView, has_stack

    maps = [m for m in program.shown_maps if has_stack(m.key) or has_stack(m.value)]
    prints = any(has_stack(t) for a in program.actions if a.kind in ("print", "print_item") for t in a.types)
    if not maps and not prints:
        hint = "use one as a key: profile:hz:99 { @[comm, ustack, kstack] = count(); }"
        raise UsageError("-f folded needs a map with stacks, and the program has none", hints=[hint])
    return FoldedView(named=len(maps) > 1, quiet=quiet, no_warnings=no_warnings)


def map_formats(words: Iterable[str], program: Program) -> tuple[str, dict[str, Format]]:
    """The style of all maps, which the command line or else the script chooses, and formats of single ones."""
    style, formats = program.settings.map_format, {}
    for word in words:
        name, given, text = word.partition("=")
        if not given and word in STYLES:
            style = word
        elif given and name.startswith("@"):
            formats[name[1:]] = _format(name[1:], text, program)
        else:
            hints = [f"styles: {', '.join(STYLES)}", "or the format of one map: --map-format '@reads=%-16s %d'"]
            raise UsageError(f"--map-format {word}: neither a style nor the format of a map", hints=hints)
    return style, formats


def _format(name: str, text: str, program: Program) -> Format:
    from probescope.model.format import FormatTextError, parse_format
    from probescope.model.mapformat import bind

    decl = next((m for m in program.shown_maps if m.name == name), None)
    if decl is None:
        known = ", ".join(f"@{m.name}" for m in program.shown_maps) or "none"
        raise UsageError(f"--map-format: the program has no map @{name}", hints=[f"it has {known}"])
    try:
        found = parse_format(_unescaped(text))
        bind(found, decl.key, decl.value)
    except FormatTextError as e:
        raise UsageError(
            f"--map-format @{name}: {e}", hints=["the items of the key come first, then the value"]
        ) from None
    return found


def _unescaped(text: str) -> str:
    r"""``\n``, ``\t`` and ``\\``, which shells leave alone in quotes."""
    out = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t")
    return out.replace("\0", "\\")
