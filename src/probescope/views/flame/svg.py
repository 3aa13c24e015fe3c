"""A flame graph as one SVG file: click to zoom, search by regular expression, no network, readable without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from xml.sax.saxutils import escape

from probescope.frozen import dataclass
from probescope.views.flame import colors
from probescope.views.flame.layout import Box, boxes, inverted
from probescope.views.flame.stacks import StackSamples, plain

FRAME = 16  # pixels of a frame's height
MARGIN = 10
ABOVE, BELOW = 44, 30
CHARACTER = 7.1  # pixels of a letter of the font at 12 px, about
_STRANGE = dict.fromkeys(
    [*range(32), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\N{REPLACEMENT CHARACTER}"
)
"""What XML does not allow, and what would act on a terminal."""


@dataclass(frozen=True, slots=True)
class Look:
    """``width`` in pixels; frames narrower than ``narrowest`` pixels are left out. ``icicle``: the root at the top.
    ``reverse``: innermost frames first, their callers next to them."""

    title: str = ""
    subtitle: str = ""
    width: int = 1200
    narrowest: float = 0.1
    icicle: bool = False
    reverse: bool = False


def render(samples: StackSamples, look: Look) -> str:
    """The text of the file."""
    inner = look.width - 2 * MARGIN
    shown = inverted(samples) if look.reverse else samples
    drawn = list(boxes(shown, look.narrowest / inner))
    deepest = max(b.depth for b in drawn)
    height = ABOVE + BELOW + (deepest + 1) * FRAME
    greatest = max(abs(b.change) for b in drawn) if samples.base is not None else 0.0
    top = [_rank(b.depth, deepest, look.icicle) for b in drawn]
    frames = [_frame(b, y, inner, samples, greatest) for b, y in zip(drawn, top, strict=True)]
    return "".join([*_head(look, height, samples), *frames, "</g>\n", _script(), "</svg>\n"])


def clean(text: str) -> str:
    """For XML: names come from strangers."""
    return escape(text.translate(_STRANGE), {'"': "&quot;"})


def _rank(depth: int, deepest: int, icicle: bool) -> int:
    return ABOVE + FRAME * (depth if icicle else deepest - depth)


def _head(look: Look, height: int, samples: StackSamples) -> Sequence[str]:
    title = look.title or ("Differential flame graph" if samples.base is not None else "Flame graph")
    middle = look.width / 2
    return (
        '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{look.width}" height="{height}" ',
        f'viewBox="0 0 {look.width} {height}" font-family="monospace" font-size="12" data-margin="{MARGIN}">\n',
        "<style>rect{stroke:#fff;stroke-width:.5}g.f:hover rect{stroke:#000}text{pointer-events:none}",
        "text.b{pointer-events:auto;cursor:pointer}g.f{cursor:pointer}.m rect{fill:rgb(230,0,230)}.o{opacity:.5}",
        ".h{display:none}</style>\n",
        f'<rect width="100%" height="100%" fill="#fafafa"/>\n<title>{clean(title)}</title>\n',
        f'<text x="{middle:g}" y="20" text-anchor="middle" font-size="17">{clean(title)}</text>\n',
        f'<text x="{middle:g}" y="36" text-anchor="middle" fill="#666">{clean(look.subtitle)}</text>\n',
        f'<text id="reset" class="b h" x="{MARGIN}" y="20">Reset zoom</text>\n',
        f'<text id="search" class="b" x="{look.width - MARGIN}" y="20" text-anchor="end">Search</text>\n',
        f'<text id="detail" x="{MARGIN}" y="{height - 10}"> </text>\n',
        f'<text id="matched" x="{look.width - MARGIN}" y="{height - 10}" text-anchor="end"> </text>\n<g id="frames">\n',
    )


def _frame(box: Box, y: int, inner: int, samples: StackSamples, greatest: float) -> str:
    x, width = MARGIN + box.x * inner, box.width * inner
    fill = colors.change(box.change, greatest) if samples.base is not None else colors.warm(box.name)
    fits = int((width - 6) / CHARACTER)
    label = box.name if len(box.name) <= fits else box.name[: fits - 2] + ".." if fits > 2 else ""
    more = f", {box.change * 100:+.2f}%" if samples.base is not None else ""
    told = f"{box.name} ({plain(box.weight)} {samples.unit}, {box.width * 100:.2f}%{more})"
    text = f'<text x="{x + 3:.2f}" y="{y + 11}">{clean(label)}</text>' if label else ""
    return (
        f'<g class="f"><title>{clean(told)}</title>'
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{FRAME - 1}" rx="1" fill="{fill}"/>{text}</g>\n'
    )


def _script() -> str:
    text = resources.files("probescope.views.flame").joinpath("svg.js").read_text("utf-8")
    return f"<script><![CDATA[\n{text}]]></script>\n"
