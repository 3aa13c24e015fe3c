"""``probescope run --info``: what this machine can do, by the names that bpftrace has for it, then doctor's report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    # heading, then what bpftrace --info calls a feature, and what kernel/features does
    (
        "Kernel helpers",
        (
            ("dpath", "helper:d_path"),
            ("get_tai_ns", "helper:ktime_get_tai_ns"),
            ("get_func_ip", "helper:get_func_ip"),
            ("lookup_percpu_elem", "helper:map_lookup_percpu_elem"),
            ("loop", "helper:loop"),
        ),
    ),
    ("Kernel features", (("btf", "kernel:btf"), ("module btf", "kernel:module_btf"))),
    (
        "Probe types",
        (
            ("kprobe_multi", "attach:kprobe_multi"),
            ("uprobe_multi", "attach:uprobe_multi"),
            ("kprobe_session", "attach:kprobe_session"),
            ("iter", "attach:iter"),
        ),
    ),
)


def main() -> int:
    """Prints both, the short part first: the other takes a second or two."""
    from probescope.cli import doctor

    sys.stdout.write(text())
    sys.stdout.flush()
    return doctor.main([])


def text() -> str:
    return "".join(f"{heading}\n{_rows(rows)}\n" for heading, rows in SECTIONS)


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"  {name}: {_answer(ours)}\n" for name, ours in rows)


def _answer(name: str) -> str:
    """``unknown`` where it could not be tried, for want of privileges."""
    from probescope.kernel.features import probe

    yes = probe(name).yes
    return "unknown" if yes is None else "yes" if yes else "no"
