"""bpftrace's runtime tests and self tests, run against ``probescope run``: a table, and what differs.

    python tests/conformance/runtime.py --suite BPFTRACE/tests --programs DIRECTORY [--only REGEX] [-v]

``--suite`` is the folder ``tests`` of a checkout of bpftrace, ``--programs`` a folder with its ``testprogs`` and
``testlibs`` built; PROBESCOPE_BPFTRACE_SRC (the checkout) and PROBESCOPE_BPFTRACE_PROGRAMS say the same.
``--save FILE`` keeps the results (``-`` prints them on a line of their own), and ``--report docs/conformance.md
FILE...`` writes the page.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from runtime_case import Case, read_all
from runtime_known import known, reasons, sometimes
from runtime_report import FAIL, PASS, SKIP, Row, Run, write
from runtime_run import Result, make_bench, run
from runtime_self import self_tests


def parser() -> argparse.ArgumentParser:
    checkout = os.environ.get("PROBESCOPE_BPFTRACE_SRC")
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    p.add_argument("--suite", type=Path, default=Path(checkout, "tests") if checkout else None)
    p.add_argument("--programs", type=Path, default=os.environ.get("PROBESCOPE_BPFTRACE_PROGRAMS"))
    p.add_argument("--only", default="", metavar="REGEX", help="only tests whose file.name matches")
    needs = "host: what needs no kprobe, fentry, hardware counter or module; kernel: the others"
    p.add_argument("--needs", choices=("host", "kernel", "all"), default="all", help=needs)
    p.add_argument("--slow", type=float, default=1.0, metavar="FACTOR", help="waits are so much longer")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no test after so long: those left do not count")
    p.add_argument("--save", metavar="FILE")
    p.add_argument("-v", "--verbose", action="store_true", help="also what a failed test said")
    p.add_argument("--report", nargs="+", metavar="FILE", help="the page to write, then saved results")
    return p


def chosen(cases: list[Case], needs: str, only: str) -> list[Case]:
    wanted = [c for c in cases if re.search(only, c.id)]
    return wanted if needs == "all" else [c for c in wanted if (c.needs == "") == (needs == "host")]


def main() -> int:
    args = parser().parse_args()
    if args.report:
        write(Path(args.report[0]), [Run.read(path) for path in args.report[1:]])
        return 0
    if args.suite is None or args.programs is None:
        sys.exit("--suite and --programs name what is to be run")
    rows: list[Row] = []
    expected, may_pass = reasons(known()), sometimes(known())
    with tempfile.TemporaryDirectory() as folder:
        bench = make_bench(Path(folder), args.suite, Path(args.programs).resolve(), args.slow)
        results = (run(case, bench) for case in chosen(read_all(args.suite / "runtime"), args.needs, args.only))
        until = time.monotonic() + args.seconds
        for result in results:
            rows.append(row(result, expected, result.case.id in may_pass))
            tell(rows[-1], result, verbose=args.verbose)
            if time.monotonic() > until:
                break
        if args.needs != "kernel":
            rows += [r for r in self_tests(args.suite / "self", bench) if re.search(args.only, r.id)]
    finished = Run(os.uname().release, tuple(rows))
    sys.stdout.write(finished.table())
    if args.save == "-":
        sys.stdout.write(f"RESULTS {finished.text()}\n")
    elif args.save:
        Path(args.save).write_text(finished.text())
    return 1 if any(r.surprising for r in rows) else 0


def row(result: Result, expected: dict[str, str], may_pass: bool) -> Row:
    case = result.case
    return Row(case.file, case.name, case.needs, result.status, result.why, expected.get(case.id, ""), may_pass)


def tell(row: Row, result: Result, *, verbose: bool) -> None:
    sign = {PASS: "ok", FAIL: "FAIL", SKIP: "skip"}[row.status]
    listed = {FAIL: " (known)", PASS: " (listed, but passes)"}.get(row.status, "") if row.known else ""
    if row.status != PASS or row.surprising or verbose:
        print(f"{sign:4} {row.id}{listed}" + (f" [{row.needs}]" if row.needs else ""), flush=True)
    if row.status == FAIL and (verbose or row.surprising):
        said = "\n".join(f"      | {line}" for line in result.output.splitlines())
        print("".join(f"      {line}\n" for line in row.why.splitlines()) + said, flush=True)
    elif row.status == SKIP:
        print(f"      {row.why}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
