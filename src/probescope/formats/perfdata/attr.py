"""``struct perf_event_attr`` as files have it: any size, either byte order.

    0     4     8       16      24           32           40     48      52       56       64
    type  size  config  period  sample_type  read_format  flags  wakeup  bp_type  config1  config2   64: VER0 (config1)

The flags are C bit fields: the first one is the lowest bit of the first byte on little-endian machines and the highest
bit of the first byte on big-endian ones. Here bit 0 is the first one, always.
Source: include/uapi/linux/perf_event.h of Linux 7.0 (sizes 64 to 144).
"""

from __future__ import annotations

import struct

from probescope.errors import FormatError
from probescope.frozen import dataclass
from probescope.kernel.uapi import perf as u

KNOWN_SIZE = 144
LEAST_SIZE = 64
MOST_SIZE = 4096

#: name, format, offset. What lies beyond the file's attribute is 0.
FIELDS: tuple[tuple[str, str, int], ...] = (
    ("type", "I", 0),
    ("config", "Q", 8),
    ("period", "Q", 16),
    ("sample_type", "Q", 24),
    ("read_format", "Q", 32),
    ("wakeup", "I", 48),
    ("bp_type", "I", 52),
    ("config1", "Q", 56),
    ("config2", "Q", 64),
    ("branch_sample_type", "Q", 72),
    ("sample_regs_user", "Q", 80),
    ("sample_stack_user", "I", 88),
    ("clockid", "i", 92),
    ("sample_regs_intr", "Q", 96),
    ("aux_watermark", "I", 104),
    ("sample_max_stack", "H", 108),
    ("aux_sample_size", "I", 112),
    ("aux_action", "I", 116),
    ("sig_data", "Q", 120),
    ("config3", "Q", 128),
    ("config4", "Q", 136),
)
FLAGS_OFFSET = 40
_REVERSED = bytes(int(f"{n:08b}"[::-1], 2) for n in range(256))


@dataclass(frozen=True, slots=True)
class Attr:
    """What perf_event_open(2) was told. ``period`` is a frequency in Hz with FLAG_FREQ. ``size``: bytes in the file;
    ``unknown``: those of them that are not zero and that nobody here knows the meaning of."""

    type: int = 0
    config: int = 0
    period: int = 0
    sample_type: int = 0
    read_format: int = 0
    wakeup: int = 0
    bp_type: int = 0
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    clockid: int = 0
    sample_regs_intr: int = 0
    aux_watermark: int = 0
    sample_max_stack: int = 0
    aux_sample_size: int = 0
    aux_action: int = 0
    sig_data: int = 0
    config3: int = 0
    config4: int = 0
    flags: int = 0
    size: int = KNOWN_SIZE
    unknown: int = 0

    @property
    def sample_id_all(self) -> bool:
        return bool(self.flags & u.FLAG_SAMPLE_ID_ALL)

    def pack(self, big: bool = False, size: int = 0) -> bytes:
        """As a file has it, in ``size`` bytes (its own size if 0)."""
        size = size or self.size
        data = bytearray(max(size, KNOWN_SIZE))
        order = ">" if big else "<"
        for name, layout, at in FIELDS:
            struct.pack_into(order + layout, data, at, getattr(self, name))
        struct.pack_into(order + "I", data, 4, size)
        flags = self.flags.to_bytes(8, "little")
        data[FLAGS_OFFSET : FLAGS_OFFSET + 8] = flags.translate(_REVERSED) if big else flags
        return bytes(data[:size])


def parse_attr(data: bytes, big: bool) -> Attr:
    """``data``: the whole attribute, as many bytes as its container says. Raises FormatError."""
    if not LEAST_SIZE <= len(data) <= MOST_SIZE:
        raise FormatError(f"event attributes of {len(data)} bytes", section="attrs")
    order = ">" if big else "<"
    values: dict[str, int] = {}
    for name, layout, at in FIELDS:
        if at + struct.calcsize("<" + layout) <= len(data):
            values[name] = struct.unpack_from(order + layout, data, at)[0]
    flags = data[FLAGS_OFFSET : FLAGS_OFFSET + 8]
    values["flags"] = int.from_bytes(flags.translate(_REVERSED) if big else flags, "little")
    unknown = sum(byte != 0 for byte in data[KNOWN_SIZE:])
    return Attr(**values, size=len(data), unknown=unknown)
