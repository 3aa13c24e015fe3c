"""``probescope doctor``: what this kernel, these privileges and this user can do, mechanism by mechanism."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from probescope.cli.parsing import Parser, add_format
from probescope.cli.tables import Style, columns, style, width, wrapped

EXAMPLES = """examples:
  probescope doctor                 mechanisms, privileges, and what stands in the way
  probescope doctor -v              every feature that was tried, every setting
  probescope doctor --clean         remove what killed runs left behind in tracefs
  probescope doctor -f json | jq '.features[] | select(.answer == "no") | {name, reason, remedies}'
"""

FOREIGN = "no tracing program may call it"


def parser() -> Parser:
    p = Parser(
        "doctor",
        "What this kernel, these privileges and this user can do: each no with its reason and the way to get it.",
        EXAMPLES,
    )
    p.add_argument("-v", "--verbose", action="store_true", help="every feature that was tried, every setting")
    add_format(p, "text (default) or json (always with everything)")
    p.add_argument("--clean", action="store_true", help="remove what killed runs left behind in tracefs")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    if args.clean:
        return _clean(as_json=args.format == "json")
    report = _report(everything=args.verbose or args.format == "json")
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        sys.stdout.write(text(report, verbose=args.verbose, look=style(), wide=width()))
    return 0


def _report(*, everything: bool) -> dict[str, Any]:
    from probescope.cli.progress import Progress
    from probescope.collect.checkup import checkup

    progress = Progress("trying what this kernel can do")
    try:
        return checkup(everything=everything, progress=progress)
    finally:
        progress.close()


def text(report: dict[str, Any], *, verbose: bool, look: Style, wide: int = 0) -> str:
    """The report for reading."""
    features = report["features"]
    rows = [(f["label"], f["answer"], _remark(f)) for f in features if f["label"]]
    out = [
        f"Linux {report['kernel']} on {report['machine']}, probescope {report['probescope']}, uid {report['uid']}\n\n"
    ]
    out += [*_privileges(report, wide), "\n"]
    out.append(columns(("mechanism", "here", "why not, and what helps"), rows, wide=wide, look=look))
    if verbose:
        shown = [f for f in features if f["reason"] != FOREIGN]
        rest = sorted((f["name"], f["answer"], _remark(f) or f["purpose"]) for f in shown)
        foreign = len(features) - len(shown)
        out += [f"\n{foreign} helpers that no tracing program may call are left out.\n"] if foreign else []
        out += ["\n", columns(("feature", "here", "remark"), rest, wide=wide, look=look)]
        settings = [(name, s["value"] or "not there", s["about"]) for name, s in report["settings"].items()]
        out += ["\n", columns(("setting", "value", "meaning"), settings, wide=wide, look=look)]
    return "".join([*out, *_advice(report, verbose=verbose)])


def _privileges(report: dict[str, Any], wide: int) -> Iterator[str]:
    if report["can_trace_with_bpf"]:
        yield "privileges: enough for BPF and perf events\n"
    else:
        yield f"privileges: {' and '.join(report['missing_capabilities'])} missing. Run as root, or\n"
        yield '  sudo setcap cap_bpf,cap_perfmon+ep "$(readlink -f "$(command -v python3)")"\n'
        yield "  (setcap comes with the package libcap2-bin; it holds for every script that this python3 runs)\n"
    if report["lockdown"] not in ("", "none"):
        yield f"lockdown: {report['lockdown']}: boot with lockdown=none, or without Secure Boot\n"
    tracefs = report["tracefs"]
    place = {
        "readable": tracefs["path"],
        "denied": "for root alone; for a group: sudo mount -o remount,gid=$(id -g),mode=0750 /sys/kernel/tracing",
        "absent": "not mounted (sudo mount -t tracefs nodev /sys/kernel/tracing)",
    }[tracefs["state"]]
    yield f"tracefs: {place}\n"
    if not report["kernel_config_known"]:
        words = (
            "the kernel's build options cannot be read (no /proc/config.gz, no /boot/config-*): reasons are less exact"
        )
        yield "\n".join(wrapped(words, wide)) + "\n"


def _remark(f: dict[str, Any]) -> str:
    """Why not, and what helps best; that more privileges would help is said once, above."""
    if f["answer"] == "yes":
        return ""
    helps = ""
    for r in f["remedies"][:1]:
        said = r["kind"] == "privilege" or (r["kind"] == "config" and "CONFIG_" in f["reason"])
        helps = "" if said else r["text"]
    return "; ".join(p for p in (f["reason"], helps) if p)


def _advice(report: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    unknown = sum(1 for f in report["features"] if f["answer"] == "unknown" and f["label"])
    if unknown:
        yield f"\n{unknown} could not be tried with these privileges: run probescope doctor as root to know.\n"
    dead = [x for x in report["leftovers"] if not x["alive"]]
    if dead:
        yield f"\n{len(dead)} leftover(s) of killed runs in tracefs: sudo probescope doctor --clean\n"
    started = ", ".join(x["instance"] for x in report.get("started", []))
    if started:
        yield f"\nftrace start began {started}, which goes on until probescope ftrace reset -a\n"
    if not verbose:
        yield "\nprobescope doctor -v shows every feature; probescope explain PROBE what would be used, and its cost.\n"


def _clean(*, as_json: bool) -> int:
    from probescope.kernel.leftovers import reap

    gone = reap()
    if as_json:
        import json

        sys.stdout.write(json.dumps([{"kind": x.kind, "name": x.name, "pid": x.pid} for x in gone]) + "\n")
    else:
        sys.stdout.write("".join(f"removed {x.kind} {x.name}\n" for x in gone) or "nothing to clean\n")
    return 0
