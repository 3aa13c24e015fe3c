"""Print formats and format texts of any shape: a printer comes of each, and any record has a text."""

from __future__ import annotations

import os
import random
import time

import formats_tracemaker as tm
import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.print_fmt import compile_event
from probescope.formats.tracing.symbols import Context, PrintkFormats, Symbols
from probescope.model.recording import Ragged

SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10")) / 3
PIECES = (
    *'()[]{}?:,+-*/%&|^~!<>="',
    *("REC->n", "REC->small", "REC->name", "REC->missing", "REC", "->", "<<", ">>", "&&", "||", "==", " ", "\\n", "\\"),
    *("__get_str(name)", '__print_flags(REC->n, "|", {1, "a"})', '__print_symbolic(REC->n, {1, "b"})', "__print_hex("),
    *(
        "(u8)",
        "(int *)",
        "((u16 *)__get_dynamic_array(name))",
        "sizeof(",
        "unsigned long",
        "%d",
        "%s",
        "%*s",
        "%pS",
        "%pI6c",
    ),
    *(
        "%.*s",
        "%*ph",
        "%llx",
        "%#o",
        "0",
        "1",
        "0xffffffffffffffff",
        "-1",
        "'x'",
        "99999999999999999999",
        "__get_cpumask(name)",
    ),
    *("__print_array(", "__get_dynamic_array_len(name)", "__print_ns_to_secs(REC->n)", "\0", "\u00e9"),
)


def made(random_: random.Random) -> str:
    """A sound format changed in a few places, or pieces at random."""
    if random_.random() < 0.3:
        return '"' + "".join(random_.choices(PIECES, k=random_.randint(1, 30)))
    text = tm.TICK.partition("print fmt: ")[2]
    for _ in range(random_.randint(1, 6)):
        at = random_.randrange(len(text) + 1)
        text = text[:at] + random_.choice(PIECES) + text[at + random_.randint(0, 5) :]
    return text


def test_any_print_format() -> None:
    """Nothing but a text comes out, in bounded time, of whatever a recording says an event is printed by."""
    random_ = random.Random(20_251_128)
    head = tm.TICK.partition("print fmt: ")[0]
    values = np.frombuffer(random_.randbytes(4096), np.uint8)
    raw = Ragged(values, np.array([0, 100, 1000, 4000]), np.array([40, 24, 300, 9]))
    context = Context(symbols=Symbols("1000 T a\n2000 T b\n"), printk=PrintkFormats('0x0 : "%s"\n'))
    end, parsed, count = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < end:
        event = parse_event_format(head + "print fmt: " + made(random_) + "\n", "test")
        printer = compile_event(event, context, plugins=True)
        parsed += printer.parsed
        count += 1
        assert len(printer.texts(Records(raw))) == 4
    assert count > parsed > 0


def test_any_format_text() -> None:
    """Bytes changed anywhere in a format: an event or a FormatError; whatever its fields say, its text is bounded."""
    random_ = random.Random(20_251_129)
    values = np.frombuffer(random_.randbytes(4096), np.uint8)
    raw = Ragged(values, np.array([0, 2000, 4096]), np.array([40, 1000, 0]))
    end, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        text = list(tm.TICK)
        for _ in range(random_.randint(1, 8)):
            text[random_.randrange(len(text))] = random_.choice("0123456789;:\t[]*abc \n")
        try:
            event = parse_event_format("".join(text), "test")
        except FormatError:
            continue
        for line in compile_event(event, Context()).texts(Records(raw)):
            assert len(line) < 1 << 16
        count += 1
    assert count > 20
