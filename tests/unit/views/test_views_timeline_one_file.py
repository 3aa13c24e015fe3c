"""The report in one file: its data are what the server would answer, and it is never larger than was asked for."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_fakes import wake
from timeline_fakes import asked, busy, made, opened

from probescope.errors import LimitError, UsageError
from probescope.model.recording import LostEvents
from probescope.views.timeline import one_file
from probescope.views.timeline.opened import Opened
from probescope.views.timeline.protocol import decode

PAGE = b"<!doctype html><body><!--probescope:data--><script>1</script></body>"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    part = made(tmp_path_factory.mktemp("report") / "a.duckdb", busy(2500))
    with opened(part) as one:
        yield one


def unpacked(page: bytes) -> tuple[dict[str, Any], Any]:
    block = re.search(rb'<script type="text/plain" id="probescope-data">([A-Za-z0-9+/=]*)</script>', page)
    assert block
    assert page.startswith(b"<!doctype html><body><script")
    assert page.endswith(b"</script><script>1</script></body>")
    return decode(gzip.decompress(base64.b64decode(block[1])))


def test_slices_are_all_there(found: Opened) -> None:
    page, cut = one_file.one_file(found, PAGE, 20_000_000)
    head, arrays = unpacked(page)
    assert cut == head["cut"] == ""
    for track in ("cpu:0:0", "cpu:0:1"):
        key = head["tiles"][track]["levels"][0]["key"]
        _, true = asked(found, "slices", track=track, start=0, end=found.length + 1, width=8000)
        assert len(arrays[f"{key}.start"]) == true["count"].sum()
        assert (np.diff(arrays[f"{key}.start"]) >= 0).all()
    ids = {t["id"] for t in head["tracks"]}
    assert all(t["parent"] is None or t["parent"] in ids for t in head["tracks"])
    assert set(head["tiles"]) == {t["id"] for t in head["tracks"] if t["kind"] != "group"} | {"all"}


def test_events_wakeups_and_names(found: Opened) -> None:
    head, arrays = unpacked(one_file.one_file(found, PAGE, 20_000_000)[0])
    rows, _ = asked(found, "events", offset=1000, limit=1)
    number, ts, cpu, task, kind, info, utid, flags = rows["rows"][0]
    names = head["names"]
    got = [arrays[f"ev.{c}"][1000] for c in ("id", "ts", "cpu", "utid")]
    assert got == [number, ts, cpu, utid]
    assert [names[str(arrays[f"ev.{c}"][1000])] for c in ("task", "kind", "info", "flags")] == [
        task,
        kind,
        info,
        flags,
    ]
    assert head["events"] == {"total": rows["total"], "cut": 0}
    assert len(arrays["wake.at"]) == found.asked.query("select count(*) from wakeup").value()
    assert names[str(head["threads"][str(utid)][0])] == task.rpartition("-")[0]


def test_areas_leave_out_what_does_not_change(found: Opened) -> None:
    """And still tell the same."""
    head, arrays = unpacked(one_file.one_file(found, PAGE, 20_000_000)[0])
    entry = head["tiles"]["all"]["levels"][-1]
    at, mean = arrays[entry["key"] + ".at"], arrays[entry["key"] + ".mean"]
    _, true = asked(found, "area", track="all", start=0, end=found.length + 1, width=2000)
    held = mean[np.searchsorted(at, true["at"], "right") - 1]
    assert (held == true["mean"]).all()


def test_a_small_report_is_cut_and_says_so(found: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_file, "LEAST", 1000)
    monkeypatch.setattr(one_file, "FEW", 100)
    whole = len(one_file.one_file(found, PAGE, 20_000_000)[0])
    size = whole * 6 // 10
    page, cut = one_file.one_file(found, PAGE, size)
    assert len(page) <= size
    head, _ = unpacked(page)
    assert "list of events has the first" in head["cut"] == cut
    assert head["events"]["cut"] > 0


def test_pages_without_room_or_without_the_mark_are_refused(found: Opened) -> None:
    with pytest.raises(LimitError):
        one_file.one_file(found, PAGE, 100_000)
    with pytest.raises(LimitError):
        one_file.one_file(found, b"<html>", 20_000_000)


@pytest.mark.parametrize(("text", "size"), [("20MB", 20_000_000), ("500K", 500_000), ("1.5 mb", 1_500_000), ("77", 77)])
def test_sizes(text: str, size: int) -> None:
    from probescope.cli.export_html import size_of

    assert size_of(text) == size
    with pytest.raises(UsageError):
        size_of(text + "x")


@pytest.mark.parametrize("args", [["--pid", "3"], ["--time", "1,2"], ["--to", "folded"], ["-e", "x"]])
def test_options_that_do_not_go_with_it(args: list[str], tmp_path: Path) -> None:
    from probescope.cli.export import main

    with pytest.raises(UsageError, match="whole recording"):
        main(["--html", "x.data", "-o", str(tmp_path / "r.html"), *args])


def test_places_of_losses_and_no_flags(tmp_path: Path) -> None:
    """Of a recording without flags there is no column of them; what was lost is told where that was."""
    batch = [LostEvents(time=30, cpu=1, count=4), wake(50, 0, 7, 8), wake(60, 0, 7, 8)]
    with opened(made(tmp_path / "a.duckdb", [wake(10, 0, 7, 8), *batch], flagged=False)) as one:
        _, arrays = unpacked(one_file.one_file(one, PAGE, 20_000_000)[0])
    assert [arrays[f"lost.{n}"].tolist() for n in ("at", "cpu", "count")] == [[20], [1], [4]]
    assert "ev.flags" not in arrays
