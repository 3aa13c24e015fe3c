"""A running session for Python callers: events as they come, maps as Python values, columns for numpy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from probescope.model.output import Lost, MapOut, Output, Text
from probescope.model.types import Agg, item_names

if TYPE_CHECKING:
    import numpy as np

    from probescope.api import Built
    from probescope.model.aggregate import State


class LiveSession:
    """Started by ``probescope.run``. Iterate over it for outputs as they come, until the program ends:

        with probescope.run("...") as s:
            for output in s:
                print(output)

    ``maps`` reads maps at any time, also after the end. ``lost`` counts what was lost, by kind.
    """

    def __init__(self, built: Built) -> None:
        self._outputs: list[Output] = []
        self.lost: dict[str, int] = {}
        self.exit_code = 0
        self._finals: dict[str, MapOut] = {}
        self._running = False
        self._session = built.session(self._take)
        self.program = built.program
        try:
            self._session.start()
        except BaseException:
            self._session.close()
            raise
        self._running = True

    def _take(self, output: Output) -> None:
        if isinstance(output, Lost):
            self.lost[output.kind] = self.lost.get(output.kind, 0) + output.count
        if isinstance(output, MapOut) and output.final:
            self._finals[output.name] = output
        self._outputs.append(output)

    # --- running
    # --------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = 0.02) -> list[Output]:
        """Outputs that came within ``timeout`` seconds; an empty list if there were none."""
        if self._running and not self._session.poll(int(timeout * 1000)):
            self.stop()
        out, self._outputs = self._outputs, []
        return out

    def wait(self, seconds: float) -> list[Output]:
        """Let it run so long, or until it ends; what came meanwhile."""
        until = time.monotonic() + seconds
        out: list[Output] = []
        while self._running and (left := until - time.monotonic()) > 0:
            out += self.poll(min(left, 0.05))
        return out

    def __iter__(self) -> Iterator[Output]:
        """Outputs until the program ends."""
        while True:
            yield from self.poll()
            if not self._running:
                yield from self.poll(0)
                return

    @property
    def running(self) -> bool:
        return self._running

    def stop(self) -> int:
        """Ends the program: probes go, ``end`` runs, maps are read a last time. The exit code."""
        if self._running:
            self._running = False
            try:
                self.exit_code = self._session.stop()
            finally:
                self._session.close()
        return self.exit_code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self._running = False
            self._session.close()

    # --- results
    # --------------------------------------------------------------------------------------------------------

    @property
    def maps(self) -> Mapping[str, Any]:
        """Every map by name, with its ``@``: a dict from key to value, or the value of a map without keys.
        Aggregations are numbers; avg is a number, stats a dict, histograms dicts from (low, high) to count."""
        return {f"@{m.name}": plain_map(self.map_output(m.name)) for m in self.program.maps}

    def map_output(self, name: str) -> MapOut:
        """One map with its types, for views."""
        if not self._running and name in self._finals:
            return self._finals[name]
        if not self._running:
            decl = self.program.map(name)
            return MapOut(name, decl.key, decl.value, ())
        return self._session.actions.map_output(name)

    def texts(self) -> Iterator[str]:
        """Only what the program prints, as it comes."""
        for output in self:
            if isinstance(output, Text):
                yield output.text

    def columns(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """A map with keys as numpy columns: the key's items (``key`` or ``key0``, ``key1``...) and ``value``."""
        import numpy as np

        out = self.map_output(name)
        keys = [k if isinstance(k, tuple) else (k,) for k, _ in out.items]
        names = item_names(out.key_type)
        columns = {n: np.array([k[i] for k in keys]) for i, n in enumerate(names)}
        columns["value"] = np.array([plain_value(out.value_type, v) for _, v in out.items])
        return columns


def plain_map(out: MapOut) -> Any:
    """A map as Python values."""
    if out.key_type is None:
        return plain_value(out.value_type, out.items[0][1]) if out.items else None
    return {k: plain_value(out.value_type, v) for k, v in out.items}


def plain_value(t: Any, v: State) -> Any:
    """An aggregation's state as a number, dict of stats, or dict of buckets; other values as they are."""
    if not isinstance(t, Agg):
        return v
    from probescope.model.aggregate import divide, monoid
    from probescope.views.histogram import buckets

    if t.kind in ("hist", "lhist", "llquantize"):
        return {(b.low, b.high): b.count for b in buckets(t, v)}
    if t.kind == "stats":
        return {"count": v[1], "average": divide(*v), "total": v[0]}
    return v if t.kind == "tseries" else monoid(t).number(v)
