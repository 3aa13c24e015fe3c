"""Counts put together, and the lines that show them. Numbers are worked out by hand; shapes are those of perf 6.1."""

from __future__ import annotations

import json
import math

import pytest

from probescope.model.counting import Reading, Total, averaged, deviation_of, metric, together
from probescope.views import stat as view
from probescope.views.stat import Named, Row

CLOCK = Named("task-clock")


def row(name: str = "faults", value: float = 49, *, supported: bool = True, running: int = 10, **more: object) -> Row:
    total = Total(0, (), value, 10, running, 1, supported, **more)  # type: ignore[arg-type]
    return Row(Named(name), total, None)


def test_readings_are_scaled_each_by_its_own_times() -> None:
    """One counter ran half of the time, the other all of it."""
    readings = [Reading(0, 0, -1, 100, 1000, 500), Reading(0, 1, -1, 100, 1000, 1000)]
    (total,) = together(readings, lambda _: ())
    assert (total.value, total.enabled, total.running, total.parts, total.share) == (300, 2000, 1500, 2, 75)


def test_keys_keep_readings_apart() -> None:
    readings = [Reading(c, cpu, -1, 10 * c + cpu, 5, 5) for cpu in (1, 0) for c in (0, 1)]
    assert [(t.counter, t.key, t.value) for t in together(readings, lambda r: (r.cpu,))] == [
        (0, (0,), 0),
        (0, (1,), 1),
        (1, (0,), 10),
        (1, (1,), 11),
    ]


def test_runs_give_a_mean_and_its_standard_error() -> None:
    runs = [[Total(0, (), v, 10, 10, 1)] for v in (2.0, 4.0, 9.0)]
    (mean,) = averaged(runs)
    assert mean.value == 5
    assert mean.deviation == pytest.approx(math.sqrt((9 + 1 + 16) / 2 / 3) / 5)
    assert deviation_of([7.0]) == 0


@pytest.mark.parametrize(
    ("name", "value", "others", "expected"),
    [
        ("task-clock", 5e8, {}, (0.5, "CPUs utilized")),
        ("cycles:u", 3e9, {"task-clock": 1e9}, (3.0, "GHz")),
        ("instructions", 3e9, {"cycles": 2e9}, (1.5, "insn per cycle")),
        ("branch-misses", 5, {"branches": 100}, (5.0, "of all branches")),
        ("L1-dcache-load-misses", 1, {"L1-dcache-loads": 50}, (2.0, "of all L1-dcache accesses")),
        ("faults", 49, {"task-clock": 647075}, (75.725, "K/sec")),
        ("cs", 0, {"cpu-clock": 1e6}, (0.0, "/sec")),
        ("sched:sched_switch", 2_000_000, {"task-clock": 1e9}, (2.0, "M/sec")),
    ],
)
def test_metrics(name: str, value: float, others: dict[str, float], expected: tuple[float, str]) -> None:
    found = metric(name, value, others, 1e9)
    assert found is not None
    assert (round(found[0], 3), found[2]) == expected


def test_no_metric_without_its_base() -> None:
    assert metric("instructions", 5, {}, 1e9) is None
    assert metric("faults", 5, {}, 1e9) is None


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (row(), "                49      faults\n"),
        (row(supported=False, running=0), "   <not supported>      faults\n"),
        (row(running=0), "     <not counted>      faults\n"),
        (row(running=5), "                49      faults" + " " * 61 + "  (50.00%)\n"),
        (row(deviation=0.0139), "                49      faults" + " " * 61 + "  ( +-  1.39% )\n"),
    ],
)
def test_lines(shown: Row, line: str) -> None:
    assert view.text(shown) == line


def test_line_with_a_metric() -> None:
    shown = Row(CLOCK, Total(0, (), 650_000, 1, 1, 1), (0.636, "%8.3f", "CPUs utilized"))
    assert view.text(shown) == "              0.65 msec task-clock                       #    0.636 CPUs utilized\n"
    assert view.csv(shown, ",") == "0.65,msec,task-clock,1,100.00,0.636,CPUs utilized\n"
    assert json.loads(view.jsonl(shown)) == {
        "counter-value": "0.650000",
        "unit": "msec",
        "event": "task-clock",
        "event-runtime": 1,
        "pcnt-running": 100.0,
        "metric-value": "0.636000",
        "metric-unit": "CPUs utilized",
    }


def test_units_of_a_pmu() -> None:
    shown = Row(Named("imc/reads/", "MiB", 0.5), Total(0, (), 5, 1, 1, 1), None)
    assert view.text(shown) == "              2.50 MiB  imc/reads/\n"


def test_csv_of_nothing() -> None:
    assert view.csv(row(supported=False, running=0), ";") == "<not supported>;;faults;0;0.00;;\n"


def test_digits_are_grouped_where_the_locale_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_NUMERIC", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert not view.thousands()
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    assert view.thousands()
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert not view.thousands()
    assert view.text(row(value=1234567), grouped=True).startswith("         1,234,567      faults")
