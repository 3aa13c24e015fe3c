"""The list's words, made of the store's columns, beside those that the recorded bytes themselves give."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import formats_tracemaker as tm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_fakes import asked

from probescope.formats.sniff import open_recording
from probescope.formats.tracedat.writer import Head
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.print_fmt import compile_event
from probescope.frozen import replace
from probescope.store.build.interning import clean
from probescope.store.opening import Asked
from probescope.views.timeline.opened import Opened

#: Names that columns of the store or of other tables have, too.
NAMES = ("n", "tid", "cpu", "event", "ts", "utid", "Tid", "text", "recording", "field_cpu")
#: Declaration of a field, letter of struct or bytes of an array, and directives with their arguments.
TYPES = (
    ("u32 {}", "I", (("%u", "REC->{}"), ("%x", "REC->{}"))),
    ("int {}", "i", (("%d", "REC->{}"), ("%s", '__print_symbolic(REC->{}, {{ 0, "none" }}, {{ 1, "%one" }})'))),
    ("u8 {}", "B", (("%u", "REC->{}"), ("%c", "REC->{}"))),
    ("s16 {}", "h", (("%hd", "REC->{}"),)),
    ("u64 {}", "Q", (("%llu", "REC->{}"), ("%llx", "REC->{}"))),
    ("s64 {}", "q", (("%lld", "REC->{}"),)),
    ("bool {}", "?", (("%d", "REC->{}"),)),
    ("char {}[8]", "8s", (("%s", "REC->{}"), ("%d", "REC->common_pid"))),
    ("u8 {}[16]", "16s", (("%s", "__print_hex(REC->{}, 16)"),)),
    ("u32 {}[3]", "12s", (("%s", "__print_array(REC->{}, 3, 4)"), ("%u", "REC->{}[2]"))),
    ("__data_loc char[] {}", "text", (("%s", "__get_str({})"),)),
    ("__rel_loc char[] {}", "relative", (("%s", "__get_rel_str({})"),)),
    ("__data_loc u8[] {}", "bytes", (("%s", "__print_hex(__get_dynamic_array({0}), __get_dynamic_array_len({0}))"),)),
)
#: What is UTF-8, without NUL: the store has other texts as they can be shown.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=9)


class Kind:
    """One kind of event, and records of it by their numbers."""

    def __init__(self, draw: Callable[[Any], Any], number: int, big: bool) -> None:
        self.number, self.order = number, ">" if big else "<"
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        self.types = [draw(st.sampled_from(TYPES)) for _ in names]
        lines, words, at = "", [], 8
        for name, (declared, letter, shown) in zip(names, self.types, strict=True):
            size = struct.calcsize(f"<{letter}") if letter not in DYNAMIC else 4
            lines += f"\tfield:{declared.format(name)};\toffset:{at};\tsize:{size};\tsigned:{int(letter in 'ihq')};\n"
            at += size
            words.append((name, *draw(st.sampled_from(shown))))
        self.size = at
        text = " ".join(f"{name}={directive} %%" for name, directive, _ in words)
        args = ", ".join(arg.format(name) for name, _, arg in words)
        self.format = f'name: same\nID: {number}\nformat:\n{tm.COMMON}{lines}\nprint fmt: "{text}", {args}\n'
        self.records = [self.record(draw) for _ in range(3)]

    def record(self, draw: Callable[[Any], Any]) -> bytes:
        data, tail, at = b"", b"", 8
        for _, letter, _ in self.types:
            if letter in DYNAMIC:
                content = draw(st.binary(max_size=9)) if letter == "bytes" else draw(TEXTS).encode() + b"\0"
                where = self.size + len(tail) - (at + 4 if letter == "relative" else 0)
                data += struct.pack(f"{self.order}I", len(content) << 16 | where)
                tail += content
            elif letter == "8s":
                data += draw(TEXTS).encode()[:8].decode("utf-8", "ignore").encode().ljust(8, b"\0")
            else:
                size = struct.calcsize(f"<{letter}")
                data += bytes([draw(st.booleans())]) if letter == "?" else draw(st.binary(min_size=size, max_size=size))
            at = 8 + len(data)
        return data + tail + bytes(-len(data + tail) % 4)


DYNAMIC = ("text", "relative", "bytes")


class Maker(tm.Maker):
    """Two kinds of one name, whose events take turns."""

    kinds: list[Kind]

    def record(self, tid: int, n: int) -> bytes:
        kind = self.kinds[n % 2]
        return struct.pack(self.order + "HBBi", kind.number, 1, 2, tid) + kind.records[n // 2]

    def head(self) -> Head:
        formats = {"ftrace": (tm.PRINT,), "test": tuple(k.format for k in self.kinds)}
        return replace(super().head(), formats=formats)


@st.composite
def recordings(draw: Callable[[Any], Any]) -> bytes:
    maker = Maker(draw(st.sampled_from((6, 7))), draw(st.booleans()), draw(st.sampled_from((4, 8))))
    maker.kinds = [Kind(draw, 300 + i, maker.big) for i in range(2)]
    return maker.build(("", tm.events(6)))


@contextmanager
def opened(path: Path, patched: pytest.MonkeyPatch) -> Iterator[Opened]:
    patched.setenv("XDG_CACHE_HOME", str(path.parent))
    with Opened(Asked([(str(path), 0)])) as found:
        yield found


def of_bytes(path: Path) -> list[str]:
    out: list[str] = []
    with open_recording(str(path)) as recording:
        context = recording.context()
        for batch in recording.batches():
            assert batch.raw is not None
            for i, kind in enumerate(batch.event.tolist()):
                one = replace(batch.raw, start=batch.raw.start[i : i + 1], size=batch.raw.size[i : i + 1])
                records = Records(one, context.big, context.long_size)
                records.cpu = np.array([int(batch.cpu[i])])
                out += compile_event(recording.events[kind], context, True).texts(records)
    return [clean(text.rstrip("\n")) for text in out]


@settings(max_examples=25, deadline=None)
@given(recordings())
def test_words_are_those_of_the_recorded_bytes(data: bytes) -> None:
    """Whatever fields are called, in either byte order; of kinds that share their name, too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = Path(folder) / "trace.dat"
        path.write_bytes(data)
        with opened(path, patched) as found:
            rows = asked(found, "events", offset=0, limit=100)[0]["rows"]
        assert [row[5] for row in rows] == of_bytes(path)
        assert len(rows) == 6
