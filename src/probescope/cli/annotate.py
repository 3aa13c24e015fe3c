"""``probescope annotate``: what each instruction of a function costs."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from probescope.cli.parsing import Parser, add_filters
from probescope.cli.perf_options import add_perf_options
from probescope.cli.symbols import add_symbols
from probescope.errors import FormatError, UsageError
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import Told
    from probescope.debuginfo.kallsyms import Kallsyms
    from probescope.views.annotate.body import Body
    from probescope.views.annotate.hits import Function
    from probescope.views.annotate.listing import Look
    from probescope.views.code import File
    from probescope.views.reporting.sums import Sums

EXAMPLES = """examples:
  probescope annotate compress -i perf.data    one function
  probescope annotate                          all with more than 1 % of the samples
  probescope annotate -d libc.so.6 -M intel --asm-raw
"""


def parser() -> Parser:
    p = Parser("annotate", "Show a function's instructions with their share of the samples.", EXAMPLES)
    p.add_argument("function", nargs="?", metavar="SYMBOL", help="this function; without, the heaviest ones")
    p.add_argument("-i", "--input", default="perf.data", metavar="FILE", help="perf.data by default; - is stdin")
    p.add_argument("-s", "--symbol", metavar="SYMBOL", help="the same as SYMBOL")
    p.add_argument("-d", "--dso", "--dsos", dest="dso", metavar="LIST", help="only in these files")
    p.add_argument("-e", "--event", metavar="EVENT", help="only this kind of event")
    p.add_argument("-M", "--disassembler-style", choices=("att", "intel"), default="att", help="att (default) or intel")
    p.add_argument("--asm-raw", action="store_true", help="the bytes of instructions too")
    p.add_argument("-l", "--print-line", action="store_true", help="source lines behind instructions")
    p.add_argument("-P", "--full-paths", action="store_true", help="whole paths of source files")
    p.add_argument("--no-source", dest="source", action="store_false", help="no source lines between instructions")
    p.add_argument("-n", "--show-nr-samples", action="store_true", help="numbers of samples, not shares")
    p.add_argument("--show-total-period", action="store_true", help="weights, not shares")
    types = ("local", "global")
    p.add_argument("--percent-type", choices=types, default="local", help="shares of the function, or of all samples")
    p.add_argument("--percent-limit", type=float, default=1.0, metavar="PERCENT", help="without SYMBOL: 1")
    add_filters(p)
    add_symbols(p)
    p.add_argument("--stdio", action="store_true", help="as it is")
    add_perf_options(p, "annotate")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    wanted = args.symbol or args.function or ""
    from probescope.cli.recordings import opened
    from probescope.cli.symbols import search_of
    from probescope.views.annotate.hits import functions
    from probescope.views.code import Code

    shown = 0
    failed: list[str] = []
    names: set[str] = set()
    with opened(args.input, search_of(args, args.input)) as recording:
        sums = _read(recording, args)
        ids = {b.path: b.build_id.hex() for b in recording.recording.build_ids}
        listing = Listing(recording.told, ids, look_of(args), args.vmlinux)
        code = Code()
        for kind in sorted(sums):
            found = functions(sums[kind], code)
            whole = sums[kind].weight[0]
            names.update(f.name for f in found)
            for function in _chosen(found, wanted, args, whole):
                try:
                    of = whole if args.percent_type == "global" else 0
                    for piece in listing.text(function, recording.recording.events[kind].name, of):
                        sys.stdout.write(piece)
                    shown += 1
                except FormatError as e:
                    failed.append(f"{function.name}: {e}")
        sys.stdout.flush()
        recording.tell_damage(sys.stderr)
    return _end(shown, failed, wanted, names)


def _read(recording: Opened, args: Namespace) -> dict[int, Sums]:
    import numpy as np

    from probescope.views.annotate.hits import COLUMNS
    from probescope.views.reporting.sums import Sums

    keep = recording.filter(args)
    wanted = recording.event(args.event) if args.event else -1
    out: dict[int, Sums] = {}
    for batch in recording.told.batches():
        kept = keep(batch)
        for kind in [wanted] if wanted >= 0 else np.unique(batch.batch.event).tolist():
            if kind >= 0:
                if kind not in out:
                    out[kind] = Sums(recording.told, [kind], COLUMNS)
                out[kind].add(batch, kept)
    return out


def _chosen(found: list[Function], wanted: str, args: Namespace, whole: int) -> list[Function]:
    modules = set(filter(None, (args.dso or "").split(",")))
    out = [f for f in found if not modules or f.module in modules or (f.file and f.file.path in modules)]
    if wanted:
        return [f for f in out if f.name == wanted or f.name.partition("(")[0] == wanted]
    return [f for f in out if 100 * f.weight / (whole or 1) >= args.percent_limit]


def _end(shown: int, failed: list[str], wanted: str, names: set[str]) -> int:
    from probescope.diagnostics import nearest

    for about in failed:
        sys.stderr.write(f"WARNING: {about}\n")
    if any("vmlinux" in about for about in failed):
        sys.stderr.write("HINT: --vmlinux FILE names the kernel's code; a kernel's debug package has it\n")
    if shown:
        return 0
    if not failed:
        what = f"no samples in {wanted}" if wanted else "no functions with so many samples"
        near = [f"did you mean {n}?" for n in nearest(wanted, names)] if wanted else ["--percent-limit 0"]
        near = [f"a recording is named by -i: probescope annotate -i {wanted}"] if os.path.isfile(wanted) else near
        raise UsageError(f"there are {what}", hints=[*near, "probescope report lists the functions"])
    return 1


def look_of(args: Namespace) -> Look:
    from probescope.views.annotate.listing import Look

    return Look(
        args.disassembler_style,
        args.source,
        args.asm_raw,
        args.print_line,
        0,
        args.show_nr_samples,
        args.show_total_period,
        args.full_paths,
    )


class Listing:
    """``ids``: build-ids by path, of a recording; ``vmlinux``: the kernel's code, if it was named."""

    def __init__(self, told: Told, ids: Mapping[str, str], look: Look, vmlinux: str | None) -> None:
        from probescope.views.annotate.listing import Sources

        self._told, self._look, self._ids, self._vmlinux = told, look, ids, vmlinux
        self._sources = Sources()
        self._kernel: tuple[File, Kallsyms, int] | None = None

    def text(self, function: Function, event: str, whole: int = 0) -> Iterator[str]:
        """``whole``: weight that shares are of, 0 for the function's own. Raises FormatError."""
        from probescope.views.annotate import listing
        from probescope.views.annotate.body import user_body

        if function.file is not None:
            body = user_body(function, self._ids.get(function.file.path, ""))
        else:
            body = self._of_kernel(function)
        look = replace(self._look, whole=whole)
        yield from listing.text(function, body, event, look, self._sources)

    def _of_kernel(self, function: Function) -> Body:
        from probescope.views.annotate.body import kernel_body

        if self._kernel is None:
            self._kernel = self._image()
        return kernel_body(function, *self._kernel)

    def _image(self) -> tuple[File, Kallsyms, int]:
        """The kernel's code, the symbols of the one that runs, and how far that lies above the code's addresses."""
        from probescope.debuginfo.kallsyms import Kallsyms
        from probescope.debuginfo.vmlinux import places
        from probescope.kernel import machine
        from probescope.kernel.host import host
        from probescope.kernel.machine import KCORE
        from probescope.views.code import File

        if not self._told.symbols.kernel.ours:
            raise FormatError("the recorded kernel is not the one that runs here, whose symbols tell where it lies")
        release = self._told.recording.machine.release or host().release
        recorded = next((i for path, i in self._ids.items() if path.startswith("[kernel.kallsyms]")), "")
        kallsyms = Kallsyms(machine.kallsyms())
        whole = [p for p in places(release, "") if not p.endswith(".debug")]  # those have no code
        for file in map(File, [self._vmlinux] if self._vmlinux else [*whole, KCORE]):
            binary = file.binary
            if binary is None or (file.path != KCORE and recorded and binary.elf.build_id() not in {"", recorded}):
                continue
            text = binary.elf.symbols().find("_text") if file.path != KCORE else None
            now = kallsyms.address("_text")
            return file, kallsyms, now - text.address if text is not None and now else 0
        raise FormatError("the kernel's code was not found (vmlinux, /proc/kcore)")
