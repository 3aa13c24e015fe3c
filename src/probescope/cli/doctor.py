"""``probescope doctor``: what this kernel, these privileges and this user can do, mechanism by mechanism."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from probescope.cli.tables import columns

EXAMPLES = """examples:
  probescope doctor                 mechanisms, privileges, and what stands in the way
  probescope doctor -v              every feature that was tried
  probescope doctor --clean         remove what killed runs left in tracefs
  probescope doctor -f json | jq .features
"""

HEADLINES: tuple[tuple[str, str], ...] = (
    ("attach:tracepoint", "tracepoints"),
    ("attach:raw_tracepoint", "raw tracepoints"),
    ("attach:tp_btf", "BTF tracepoints"),
    ("attach:kprobe", "kprobes"),
    ("attach:kprobe_multi", "kprobes, many at once"),
    ("attach:fentry", "fentry and fexit"),
    ("attach:uprobe", "uprobes"),
    ("attach:uprobe_multi", "uprobes, many at once"),
    ("attach:uprobe_ref_ctr", "USDT with semaphores"),
    ("attach:perf_event", "sampling by time"),
    ("perf:hardware", "hardware counters"),
    ("perf:breakpoint", "watchpoints"),
    ("attach:iter", "iterators"),
    ("map:ringbuf", "ring buffer"),
    ("kernel:btf", "BTF (kernel types)"),
    ("ftrace:function", "function tracer"),
    ("ftrace:function_graph", "function graphs"),
    ("ftrace:hist", "hist triggers"),
)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="probescope doctor",
        description="What this kernel, these privileges and this user can do; each no with its reason and a way to get it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("-v", "--verbose", action="store_true", help="every feature that was tried")
    p.add_argument("-f", "--format", choices=("text", "json"), default="text", help="text (default) or json")
    p.add_argument("--clean", action="store_true", help="remove what killed runs left behind in tracefs")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    if args.clean:
        return _clean(as_json=args.format == "json")
    report = gather(everything=args.verbose or args.format == "json")
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        sys.stdout.write(text(report, verbose=args.verbose))
    return 0


def gather(*, everything: bool) -> dict[str, Any]:
    """The whole report as JSON-able values."""
    from probescope.kernel.features import all_features, describe, probe
    from probescope.kernel.host import host
    from probescope.kernel.privileges import privileges

    p = privileges()
    answers = {a.name: a for a in all_features()} if everything else {}
    features = []
    for name in [*(n for n, _ in HEADLINES), *(n for n in answers if n not in dict(HEADLINES))]:
        answer = answers.get(name) or probe(name)
        known = describe(name)
        row = {**answer.to_json(), "purpose": known.purpose, "get": known.get, "since": known.since}
        features.append(row)
    return {
        "kernel": host().release,
        "machine": host().machine,
        "uid": p.uid,
        "can_trace_with_bpf": p.can_trace_with_bpf,
        "missing_capabilities": list(p.missing),
        "lockdown": p.lockdown,
        "perf_event_paranoid": p.perf_event_paranoid,
        "unprivileged_bpf_disabled": p.unprivileged_bpf_disabled,
        "kptr_restrict": p.kptr_restrict,
        "tracefs": _tracefs(),
        "features": features,
        "leftovers": _leftovers(),
    }


def _tracefs() -> str:
    from probescope.errors import ProbescopeError
    from probescope.kernel.tracefs import find_root

    try:
        return find_root()
    except ProbescopeError:
        return ""


def _leftovers() -> list[dict[str, Any]]:
    from probescope.errors import ProbescopeError
    from probescope.kernel.leftovers import leftovers

    try:
        return [{"kind": x.kind, "name": x.name, "pid": x.pid, "alive": x.alive} for x in leftovers()]
    except ProbescopeError:
        return []


def text(report: dict[str, Any], *, verbose: bool) -> str:
    """The report for reading."""
    out = [f"Linux {report['kernel']} on {report['machine']}, uid {report['uid']}\n\n", _privileges(report), "\n"]
    by_name = {f["name"]: f for f in report["features"]}
    rows = [(label, by_name[name]["answer"], _remark(by_name[name])) for name, label in HEADLINES]
    out.append(columns(("mechanism", "here", "remark"), rows))
    if verbose:
        rest = [(f["name"], f["answer"], _remark(f) or f["purpose"]) for f in report["features"]]
        out += ["\n", columns(("feature", "here", "remark"), sorted(rest))]
    dead = [x for x in report["leftovers"] if not x["alive"]]
    if dead:
        out.append(f"\n{len(dead)} leftover(s) of killed runs in tracefs: probescope doctor --clean\n")
    return "".join(out)


def _privileges(report: dict[str, Any]) -> str:
    lines = []
    if report["can_trace_with_bpf"]:
        lines.append("privileges: enough for BPF and perf events")
    else:
        lines.append(f"privileges: missing {', '.join(report['missing_capabilities'])}; run as root, or grant them:")
        lines.append("  setcap cap_bpf,cap_perfmon+ep $(readlink -f $(command -v python3))")
    if report["lockdown"] not in ("", "none"):
        lines.append(f"lockdown: {report['lockdown']} (boot with lockdown=none, or disable Secure Boot)")
    lines.append(
        f"kernel.perf_event_paranoid = {report['perf_event_paranoid']}, "
        f"kernel.unprivileged_bpf_disabled = {report['unprivileged_bpf_disabled']}, "
        f"kernel.kptr_restrict = {report['kptr_restrict']}"
    )
    lines.append(f"tracefs: {report['tracefs'] or 'not mounted (mount -t tracefs nodev /sys/kernel/tracing)'}")
    return "\n".join(lines) + "\n"


def _remark(f: dict[str, Any]) -> str:
    if f["answer"] == "yes":
        return ""
    parts = [f["reason"]] if f["reason"] else []
    if f["get"]:
        parts.append(f"needs {f['get']}")
    if f["since"]:
        parts.append(f"since Linux {f['since'].split(' ')[0]}")
    return "; ".join(parts)


def _clean(*, as_json: bool) -> int:
    from probescope.kernel.leftovers import reap

    gone = reap()
    if as_json:
        import json

        sys.stdout.write(json.dumps([{"kind": x.kind, "name": x.name, "pid": x.pid} for x in gone]) + "\n")
    else:
        sys.stdout.write("".join(f"removed {x.kind} {x.name}\n" for x in gone) or "nothing to clean\n")
    return 0
