"""Series under several keys."""

from __future__ import annotations

from probescope.model.output import MapOut
from probescope.model.types import I64, U64, Agg, String
from probescope.views.text import map_text

SECOND = 10**9


def test_series_of_a_map_end_together():
    """What came last under any key is the end of all, so that columns can be compared; each begins with its first."""
    series = Agg("tseries", I64, (SECOND, 5, 5))
    rows = map_text(MapOut("m", String(8), series, (("a", {1: 4, 2: 5}), ("b", {2: 7, 3: 7})))).splitlines()
    values = [row.rpartition(" ")[2] for row in rows if ":0" in row]
    assert values == ["4", "5", "-", "7", "7"]


def test_the_scale_of_unsigned_values_does_not_go_below_zero():
    for kind, low in ((U64, "0"), (I64, "-1")):
        text = map_text(MapOut("m", None, Agg("tseries", kind, (SECOND, 5, 5)), ((None, {1: 0}),)))
        assert text.splitlines()[1].split() == [low, "1"]
