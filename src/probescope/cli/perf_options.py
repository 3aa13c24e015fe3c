"""Options that perf's command of the same name has and ours has not: taken where they change nothing here, else refused
with the reason, so that nobody has to guess which it is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from probescope.errors import UsageError

_AUX = "areas of trace data (intel_pt, cs_etm) are neither recorded nor decoded here: perf record -e intel_pt//"
_DECODE = "trace data of processors is counted here, not decoded: perf script --itrace does that"
_ONE_LBR = "stacks of branch records are shown as they were recorded"
_TUI = "tables are printed as text; probescope top and the pages of probescope flame are for looking around"
_GUEST = "kernels of virtual machines are not looked into: record inside of the machine"
_SWITCH = "events are not switched on and off by others here: --time cuts, and probescope run -i FILE has predicates"
_HYBRID = "CPUs of several kinds are counted by their PMUs' own names: cpu_core/cycles/,cpu_atom/cycles/"
_PREFIX = "paths of sources are taken as they are in debug information; source files are looked for there"
_LIVE = "rows are the functions of what is sampled now: record it, and probescope report -i FILE has that"

REFUSED: Mapping[str, Mapping[str, str]] = {
    "record": {
        "-S --snapshot --aux-sample": _AUX,
        "--kcore": "the kernel's code is not copied: its names are saved beside the file, and probescope annotate -k "
        "takes the code from a vmlinux",
        "--clang-opt --clang-path": "programs as events are compiled by probescope run, from its own language",
        "--debuginfod": "nothing is downloaded while recording: probescope report --debuginfod",
    },
    "stat": {
        "--iostat": "counters of I/O stacks (uncore_iio_*) of Intel's servers are counted by -e 'uncore_iio_0/.../'",
        "--smi-cost": "it changes how all CPUs count (freeze_on_smi); -e msr/smi/,msr/aperf/,cycles does not",
        "--cputype": _HYBRID,
        "--no-scale": "a count of a counter that was shared is scaled, and says for what share of the time it counted",
        "-b --bpf-prog --bpf-counters --bpf-attr-map": "functions of BPF programs are probes: probescope run -e "
        "'fentry:bpf:NAME { @ = count(); }'",
    },
    "top": {
        "-b --branch-any -j --branch-filter --stitch-lbr": "branches are recorded by probescope record -b",
        "-D --dump-symtab": "symbols are those of the files: probescope list, readelf -s",
        "-f --count-filter --percent-limit --percentage --hierarchy --group-sort-idx --ignore-callees": _LIVE,
        "--show-total-period -w --column-widths --raw-trace --symbols": _LIVE,
        "--switch-on --switch-off --show-on-off-events": _SWITCH,
        "--overwrite": "rings are read as fast as they fill: nothing is overwritten",
        "--objdump --prefix --prefix-strip": _PREFIX,
        "--tui": "the screen is there wherever the output is a terminal; --stdio is text",
        "--kallsyms": "symbols are those of the kernel that runs",
        "--sym-annotate": "the key a shows the code of the row's function; probescope annotate that of a recording",
        "-r --realtime": "looks are not in a hurry: -m has larger rings, and probescope record has priorities",
        "--fields": "columns are those of -s, with -n the numbers of samples",
    },
    "annotate": {
        "-D --dump-raw-trace": "records are not dumped: probescope script -f json has every field",
        "--itrace": _DECODE,
        "--objdump --prefix --prefix-strip": _PREFIX,
        "--tui": _TUI,
    },
    "report": {
        "--branch-history --total-cycles": "branches are summed up by report -b, listed by script -F brstack",
        "--ignore-callees": "rows are of the functions that were sampled: -p FUNCTION -s parent sums up by callers",
        "--itrace": _DECODE,
        "--stitch-lbr": _ONE_LBR,
    },
    "script": {
        "-a --all-cpus": "scripts record nothing: probescope record -a -o - | probescope script -i -",
        "-g --gen-script -l --list --dlfilter --dlarg --list-dlfilters": "other programs are not started or loaded: "
        "from Python: probescope.open(FILE).batches(); in a program: probescope run -i FILE SCRIPT",
        "-s --script": "from Python: probescope.open(FILE).batches(); in a program: probescope run -i FILE SCRIPT",
        "--call-trace --call-ret-trace --insn-trace --itrace --graph-function --xed --max-blocks": _DECODE,
        "--guest-code --guestkallsyms --guestmodules --guestmount --guestvmlinux": _GUEST,
        "--show-text-poke-events": "they come with trace data of processors, and say how to decode it",
        "--stitch-lbr": _ONE_LBR,
    },
}  # fmt: skip
"""By command: options, and the reason."""

TAKEN: Mapping[str, Mapping[str, bool]] = {
    "record": {"--vmlinux": True},
    "stat": {
        "--no-merge": False, "--scale": False, "--hybrid-merge": False,
        "--metric-no-group": False, "--metric-no-merge": False,
    },
    "top": {
        "-v --verbose": False, "--force": False, "--group": False, "--ignore-vmlinux": False,
        "--demangle-kernel": False, "--num-thread-synthesize": True, "--proc-map-timeout": True,
        "--no-bpf-event": False, "--source": False,
        "--all-cgroups": False, "--namespaces": False,
    },
    "annotate": {
        "-f --force": False, "-m --modules": False, "-q --quiet": False, "-v --verbose": False, "--group": False,
        "--demangle-kernel": False, "--ignore-vmlinux": False, "--skip-missing": False, "--source": False,
        "--stdio-color": True, "--stdio2": False,
    },
    "report": {
        "-m --modules": False, "-v --verbose": False, "--demangle-kernel": False, "--full-source-path": False,
        "--ignore-vmlinux": False, "--skip-empty": False, "--source": False, "--stdio-color": True, "--tui": False,
        "--show-cpu-utilization": False, "--disable-order": False, "--samples": True, "--percent-type": True,
        "-M --disassembler-style": True, "--asm-raw": False, "--objdump": True,
        "--prefix": True, "--prefix-strip": True, "--show-ref-call-graph": False, "--pretty": True,
    },
    "script": {
        "-v --verbose": False, "--demangle-kernel": False, "--full-source-path": False, "--show-kernel-path": False,
    },
}  # fmt: skip
"""By command: options that change nothing, and whether a value follows."""


class _Refused(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        command = parser.prog.partition(" ")[2]
        why = next(text for options, text in REFUSED[command].items() if option_string in options.split())
        raise UsageError(f"{option_string}: {why}", hints=[f"{parser.prog} --help says what there is"])


def add_perf_options(p: argparse.ArgumentParser, command: str, but: Sequence[str] = ()) -> None:
    """Those that the command has itself come first. They are not shown in its help."""
    known = {o for a in p._actions for o in a.option_strings}
    for words, takes in TAKEN.get(command, {}).items():
        names = [o for o in words.split() if o not in known]
        if names and takes:
            p.add_argument(*names, metavar="X", help=argparse.SUPPRESS)
        elif names:
            p.add_argument(*names, action="store_true", help=argparse.SUPPRESS)
    for words in REFUSED.get(command, {}):
        names = [o for o in words.split() if o not in known]
        if names:
            p.add_argument(*names, action=_Refused, nargs="?", help=argparse.SUPPRESS)
