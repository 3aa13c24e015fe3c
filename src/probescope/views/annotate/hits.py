"""Which functions were hit where: weight by address of the file, for each kind of event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.frozen import dataclass, field
from probescope.views.reporting.keys import module_of
from probescope.views.reporting.sums import MASK

if TYPE_CHECKING:
    from probescope.views.code import Code, File
    from probescope.views.reporting.sums import Sums

COLUMNS = ("ip", "mode", "space")


@dataclass(slots=True)
class Function:
    """``file``: what its code is read from, None for the kernel. ``start``: its first address, of the file or the
    kernel; ``hits``: (weight, samples) by address, of all kinds of event in ``weight``."""

    name: str
    module: str
    file: File | None
    start: int
    weight: int = 0
    samples: int = 0
    hits: dict[int, list[int]] = field(default_factory=dict)


def functions(sums: Sums, code: Code) -> list[Function]:
    """The heaviest first. Samples of places without a name are in none."""
    found: dict[tuple[str, int], Function] = {}
    spaces = sums.told.tasks.spaces
    for group in sums.groups():
        frame = sums.self_frame(group)
        if frame is None or not frame.name:
            continue
        address, file = group.ip & MASK or frame.address, None
        if not frame.kernel:
            place = code.place(spaces[group.space] if group.space >= 0 else None, address)
            if place is None:
                continue
            file, address = place
        key = (frame.module, address - frame.offset)
        function = found.get(key)
        if function is None:
            function = found[key] = Function(frame.name, module_of(frame), file, address - frame.offset)
        at = function.hits.setdefault(address, [0, 0])
        at[0] += group.period
        at[1] += group.samples
        function.weight += group.period
        function.samples += group.samples
    return sorted(found.values(), key=lambda f: (-f.weight, f.name))
