"""Options of trace-cmd's plugin for function graphs. Expected: lines of trace-cmd 3.3.1, of a kernel that records what
functions return."""

from __future__ import annotations

import pytest

from probescope.formats.tracing.graph import Graph
from probescope.formats.tracing.symbols import Context, Forms, Symbols

CLOSED = {"func": 0x1000, "depth": 1, "calltime": 0, "rettime": 16_801, "retval": 0}
LEAF = {"func": 0x2000, "depth": 0, "calltime": 0, "rettime": 430_280, "retval": 0xFF11000000FDC000}


def graph(forms: Forms) -> Graph:
    context = Context(symbols=Symbols("1000 T rw_verify_area\n2000 T mutex_unlock\n3000 T _etext\n"))
    context.forms = forms
    return Graph((), context)


@pytest.mark.parametrize(
    ("forms", "closed", "leaf"),
    [
        (Forms(), "  } (ret=0x0)", "mutex_unlock(); (ret=0xff11000000fdc000)"),
        (Forms(tail=True), "  } /* rw_verify_area */ (ret=0x0)", "mutex_unlock(); (ret=0xff11000000fdc000)"),
        (Forms(depth=True), "  } (1) (ret=0x0)", "mutex_unlock(); (0) (ret=0xff11000000fdc000)"),
        (
            Forms(tail=True, depth=True),
            "  } /* rw_verify_area */ (1) (ret=0x0)",
            "mutex_unlock(); (0) (ret=0xff11000000fdc000)",
        ),
    ],
)
def test_what_a_line_of_a_graph_tells_besides(forms: Forms, closed: str, leaf: str) -> None:
    """The name that a brace closes, the depth, what was returned: in this order."""
    made = graph(forms)
    assert made._closing(CLOSED) == f"+ 16.801 us  |  {closed}"
    assert made._entry(LEAF, LEAF) == f"! 430.280 us |  {leaf}"
