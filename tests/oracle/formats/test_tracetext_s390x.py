"""Text that trace-cmd and a kernel printed, read back: the same events as the recording that it was printed from."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import formats_tracetext as texts
import pytest

from probescope.formats.tracedat.reader import TraceDat

FOLDER = Path(__file__).resolve().parent / "s390x"
#: Fields of which a text has nothing, or something else: functions by name, system calls without their number, timers
#: without a mode, R for a task that was preempted; the end of a marker's line.
_ELSEWHERE = {"function", "call_site", "ip", "__syscall_nr", "mode", "buf"}


def pair(name: str) -> tuple[TraceDat, str]:
    packed = FOLDER / f"{name}.dat.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else (FOLDER / f"{name}.dat").read_bytes()
    text = gzip.decompress((FOLDER / f"{name}.report.txt.gz").read_bytes()).decode()
    text = re.sub(r"\] ([XZ]) ==> ", lambda m: f"] {'XZ'[m[1] == 'X']} ==> ", text)  # that libtraceevent mixed them up
    return TraceDat(io.BytesIO(data), name, owned=False), text


@pytest.mark.parametrize("name", ["events6", "events7"])
def test_fields_of_a_text_are_those_of_the_recording(name: str) -> None:
    """Protects heads, forms of plugins and print formats backwards: every event, every field that the text has."""
    recording, text = pair(name)
    found = texts.of_trace(text, texts.described(recording))
    compared = 0
    for binary, read in zip(texts.rows(recording), texts.rows(found), strict=True):
        assert binary[0] == read[0]
        assert binary[2:4] == read[2:4]
        assert abs(binary[1] - read[1]) <= 500, "microseconds are rounded"
        for field, value in binary[4].items():
            if field in _ELSEWHERE or (field == "prev_state" and value == 0x100):
                continue
            compared += 1
            assert read[4][field] == value, (binary, read)
    assert compared > 2500
    assert found.damage == ()


@pytest.mark.parametrize("name", ["events6", "events7", "stacks"])
@pytest.mark.parametrize("knows", [True, False])
def test_a_text_is_printed_as_it_was(name: str, *, knows: bool) -> None:
    """Whatever became of its fields: with the kernel's formats and without them."""
    recording, text = pair(name)
    found = texts.of_trace(text, texts.described(recording) if knows else None)
    assert texts.printed(found) == text.splitlines()


def test_stacks_belong_to_their_events() -> None:
    """Stacks of a text are events of their own with as many addresses, and the same names."""
    recording, text = pair("stacks")
    found = texts.of_trace(text, texts.described(recording))
    context, own = recording.context(), found.context()
    stacks = 0
    for binary, read in zip(texts.rows(recording), texts.rows(found), strict=True):
        assert binary[0] == read[0]
        if binary[0] == "ftrace:kernel_stack":
            stacks += 1
            theirs, ours = bytes.fromhex(binary[4]["caller"]), bytes.fromhex(read[4]["caller"])
            addresses = [int.from_bytes(theirs[i : i + 8], "big") for i in range(0, len(theirs), 8)]
            names = [context.function(a) for a in addresses]
            read_names = [own.function(int.from_bytes(ours[i : i + 8], "little")) for i in range(0, len(ours), 8)]
            # the binary field is declared with 8 elements, whatever there are
            assert [n and n[0] for n in names] == [n and n[0] for n in read_names][: len(names)]
    assert stacks > 80
