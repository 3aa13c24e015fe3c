"""Results of ``test:`` and ``bench:`` probes as text, and as the data of a JSON document."""

from __future__ import annotations

from typing import Any

from probescope.model.output import BenchResult, Output, TestResult

_GREEN, _RED, _END = "\x1b[32m", "\x1b[31m", "\x1b[0m"
_NAMES = 40
_TIME = 15


def _mark(text: str, *, good: bool = True) -> str:
    return f"{_GREEN if good else _RED}[{text}]{_END}"


def plain(outputs: tuple[Output, ...]) -> str:
    """What a program said, as text."""
    from probescope.views.text import TextView

    view = TextView()
    return "".join("".join(view.show(o)) for o in outputs)


def test_text(o: TestResult) -> str:
    name = o.names[o.index]
    head = f"{_mark('==========')} Running {_tests(len(o.names))}.\n" if o.index == 0 else ""
    ok = o.passed[o.index]
    said = "" if ok else "".join(f"{line}\n" for line in plain(o.said).splitlines() if line)
    verdict = _mark("       OK ") if ok else _mark("  FAILED  ", good=False)
    last = _summary(o) if o.index + 1 == len(o.names) else ""
    return f"{head}{_mark(' RUN      ')} {name}\n{said}{verdict} {name} ({_duration(o.duration_ns)})\n{last}"


def _summary(o: TestResult) -> str:
    failed = [n for n, ok in zip(o.names, o.passed, strict=True) if not ok]
    lines = [f"{_mark('==========')} {_tests(len(o.names))} ran.\n"]
    lines.append(f"{_mark('  PASSED  ')} {_tests(len(o.names) - len(failed))}.\n")
    if failed:
        lines.append(f"{_mark('  FAILED  ', good=False)} {_tests(len(failed))}, listed below:\n")
        lines += [f"{_mark('  FAILED  ', good=False)} {n}\n" for n in failed]
    return "".join(lines)


def _tests(n: int) -> str:
    return f"{n} test" if n == 1 else f"{n} tests"


def _duration(ns: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:
            return f"{ns // size} {unit}"
    return f"{ns} ns"


def bench_text(o: BenchResult) -> str:
    wide = max(_NAMES, *map(len, o.names)) + 1
    head = f"{'Benchmark':<{wide}}{'Time(ns)':<{_TIME}}Iterations\n" if o.index == 0 else ""
    line = "-" * (wide + _TIME + len("Iterations")) + "\n" if head else ""
    return f"{head}{line}{o.names[o.index]:<{wide}}{o.average_ns:<{_TIME}}{o.runs}\n"


def trial_data(o: TestResult | BenchResult) -> dict[str, Any]:
    """The document without its text forms."""
    name = o.names[o.index]
    if isinstance(o, BenchResult):
        return {"type": "benchmark_result", "data": {name: {"average": o.average_ns, "iters": o.runs}}}
    result = {"duration": o.duration_ns, "passed": o.passed[o.index], "output": plain(o.said)}
    return {"type": "test_result", "data": {name: result}}
