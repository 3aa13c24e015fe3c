"""Print formats worked out: what each part of the language and each helper shows for one record.

Expected texts are worked out by hand from C, from lib/vsprintf.c and from libtraceevent's output.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest

from probescope.errors import FormatError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.fields import Records, column
from probescope.formats.tracing.parser import parse_print_fmt
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.symbols import Context, PrintkFormats, Symbols
from probescope.model.recording import EventType, Ragged

FIELDS = """name: probe
ID: 9
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int neg;\toffset:8;\tsize:4;\tsigned:1;
\tfield:unsigned int flags;\toffset:12;\tsize:4;\tsigned:0;
\tfield:u64 big;\toffset:16;\tsize:8;\tsigned:0;
\tfield:s16 small;\toffset:24;\tsize:2;\tsigned:1;
\tfield:u8 mac[6];\toffset:26;\tsize:6;\tsigned:0;
\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;
\tfield:unsigned long args[2];\toffset:48;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:64;\tsize:4;\tsigned:0;
\tfield:__rel_loc u8[] bytes;\toffset:68;\tsize:4;\tsigned:0;
\tfield:__u8 v4[4];\toffset:72;\tsize:4;\tsigned:0;
\tfield:__u8 v6[16];\toffset:76;\tsize:16;\tsigned:0;
\tfield:const char * text;\toffset:96;\tsize:8;\tsigned:0;

print fmt: """
V6 = bytes.fromhex("20010db8000000000000000000000001")


def record(big: bool = False) -> bytes:
    order = ">" if big else "<"
    out = struct.pack(order + "HBBi", 9, 0, 0, 1)
    out += struct.pack(order + "iIQh", -5, 0x15, 0xFFFFFFFF81000010, -2) + bytes([0, 1, 2, 0xAA, 0xBB, 0xCC])
    out += b"bash\0garbage\0\0\0\0" + struct.pack(order + "QQ", 3, 0x1000)
    out += struct.pack(order + "II", 6 << 16 | 104, 4 << 16 | 38) + bytes([10, 0, 0, 7]) + V6
    out += bytes(4) + struct.pack(order + "Q", 0xFFFF0000) + b"hello\0" + bytes([1, 2, 0x7F, 0x80])
    assert len(out) == 114
    return out


def records(data: bytes, count: int = 1, big: bool = False) -> Records:
    values = np.frombuffer(data * count, np.uint8)
    start = np.arange(count, dtype=np.int64) * len(data)
    return Records(Ragged(values, start, np.full(count, len(data))), big)


def context(big: bool = False) -> Context:
    symbols = Symbols("ffffffff81000000 T first\nffffffff81001000 t second\t[mod]\nffffffff82000000 T last\n")
    return Context(big, 8, symbols, PrintkFormats('0xffff0000 : "a %d b\\n"\n'))


def event(print_fmt: str) -> EventType:
    return parse_event_format(FIELDS + print_fmt + "\n", "test")


def printed(print_fmt: str, big: bool = False) -> Printer:
    return compile_event(event(print_fmt), context(big))


CASES = [
    # numbers: signs, sizes, flags
    ('"%d %u %x %o", REC->neg, REC->flags, REC->flags, REC->flags', "-5 21 15 25"),
    ('"%u %lu %llx", REC->neg, REC->big, REC->big', "4294967291 18446744071578845200 ffffffff81000010"),
    ('"%hd %hhu %ld", REC->small, REC->neg, (long)REC->neg', "-2 251 -5"),
    ('"%5d|%-5d|%05d|%+d|%.4x", 7, 7, 7, 7, 7', "    7|7    |00007|+7|0007"),
    ('"%#x %#x %#o %08lx %#010x", 0, 255, 8, REC->big, 3', "0 0xff 010 ffffffff81000010 0x00000003"),
    ("\"%c%c %%\", 'x', 0x41", "xA %"),
    # operators as C has them
    ('"%d %d %d", 7 / -2, 7 % -2, -7 >> 1', "-3 1 -4"),
    ('"%d %d", 1 + 2 * 3 - 4, (1 + 2) * 3', "3 9"),
    ('"%d %d %d", REC->neg < 0, REC->flags > -1, REC->neg < REC->flags', "1 0 0"),
    ('"%d %d", 1 << 3 | 1, ~0 & 0xf', "9 15"),
    ('"%d %d %d", !REC->neg, REC->neg && 0, REC->neg || 0', "0 0 1"),
    ('"%d", REC->flags ? REC->neg ? 1 : 2 : 3', "1"),
    ('"%lu", REC->flags - 22', "4294967295"),
    ('"%d %d", 5 / (REC->neg + 5), 5 % (REC->neg + 5)', "0 0"),
    ('"%u %u %lu", (u8)REC->big, (unsigned short)REC->neg, sizeof(REC->comm) + sizeof(u64)', "16 65531 24"),
    ('"%x %x", REC->args[1], REC->mac[3]', "1000 aa"),
    ('"%x %x", ((u16 *)__get_rel_dynamic_array(bytes))[1], ((u8 *)REC->args)[0]', "807f 3"),
    ('"%d", ({ int a = (REC->neg); int b = (3); ((a) < (b) ? (a) : (b)); })', "-5"),
    # texts
    ('"%s|%s|%s", REC->comm, __get_str(name), "lit\\"eral"', 'bash|hello|lit"eral'),
    ('"%-8s|%8s|%.2s|%.*s", REC->comm, REC->comm, REC->comm, 3, REC->comm', "bash    |    bash|ba|bas"),
    ('"%s %s", REC->neg ? "yes" : "no", REC->text', "yes a %d b"),
    ('"%s", __print_flags(REC->flags, "|", { 1, "A" }, { 4, "B" }, { 2, "C" })', "A|B|0x10"),
    ('"%s", __print_flags(0, "|", { 0, "none" }, { 1, "A" })', "none"),
    ('"%s %s", __print_symbolic(REC->flags, { 0x15, "x" }), __print_symbolic(3, { 1, "y" })', "x 0x3"),
    ('"%s", __print_symbolic(REC->neg, { -5, "EIO" }, { -1, ((void *)0) })', "EIO"),
    # bytes
    ('"%s %s", __print_hex(REC->mac, 6), __print_hex_str(REC->mac, 3)', "00 01 02 aa bb cc 000102"),
    ('"%s", __print_array(REC->args, 2, 8)', "{0x3,0x1000}"),
    ('"%s", __print_dynamic_array(bytes, sizeof(u16))', "{0x201,0x807f}"),
    ('"%d", __get_rel_dynamic_array_len(bytes)', "4"),
    ('"%s %s", __get_rel_bitmask(bytes), __get_rel_cpumask(bytes)', "807f0201 0,9,16-22,31"),
    ('"%*ph %*phN", 4, __get_rel_dynamic_array(bytes), 2, __get_rel_dynamic_array(bytes)', "01 02 7f 80 0102"),
    ('"%pM %pMF %pm %pMR", REC->mac, REC->mac, REC->mac, REC->mac', None),
    ('"%pI4 %pi4", REC->v4, &REC->v4', "10.0.0.7 010.000.000.007"),
    ('"%pI6c %pI6", REC->v6, REC->v6', "2001:db8::1 2001:0db8:0000:0000:0000:0000:0000:0001"),
    ('"%pU", REC->v6', "20010db8-0000-0000-0000-000000000001"),
    # addresses
    ('"%p %p", REC->big, 0', "0xffffffff81000010 (nil)"),
    ('"%pS %ps", (void *)REC->big, (void *)REC->big', "first+0x10 first"),
    ('"%ps %pS", 0xffffffff81001000, 1', "second 0x1"),
    # times
    ('"%s.%s", __print_ns_to_secs(2000000003), __print_ns_without_secs(2000000003)', "2.3"),
    ('"%llu.%09u", __print_ns_to_secs(2000000003), __print_ns_without_secs(2000000003)', "2.000000003"),
]


@pytest.mark.parametrize(("print_fmt", "text"), CASES)
def test_one_record(print_fmt: str, text: str | None) -> None:
    if text is None:
        text = "00:01:02:aa:bb:cc 00-01-02-aa-bb-cc 000102aabbcc cc:bb:aa:02:01:00"
    printer = printed(print_fmt)
    assert printer.parsed
    assert printer.texts(records(record())) == [text]
    assert printer.texts(records(record(), 3)) == [text] * 3


def test_big_endian_numbers() -> None:
    printer = printed('"%d %llx %x %s", REC->neg, REC->big, REC->args[1], __get_str(name)', big=True)
    assert printer.texts(records(record(True), 2, True)) == ["-5 ffffffff81000010 1000 hello"] * 2


@pytest.mark.parametrize(
    "print_fmt",
    [
        '"%d", unknown_function(REC->neg)',
        '"%d", REC->missing',
        '"%d %d", 1',
        '"%d", *REC->neg',
        '"%99999d", 1',
        '"%s", ' + "(" * 100 + "1" + ")" * 100,
        '"unclosed',
        "no string",
    ],
)
def test_what_cannot_be_read_is_printed_field_by_field(print_fmt: str) -> None:
    """As libtraceevent does; nothing raises."""
    printer = printed(print_fmt)
    assert not printer.parsed
    text = printer.texts(records(record()))[0]
    assert text.startswith("[FAILED TO PARSE] neg=-5 flags=21 big=18446744071578845200 small=-2 mac=ARRAY[00, 01, 02,")
    assert " comm=bash args=ARRAY[03, 00," in text
    assert " name=hello " in text


def test_names_of_names_do_not_double() -> None:
    """A block of names made of each other would take longer than the universe to work out."""
    names = "".join(f"int a{i} = a{i - 1} + a{i - 1}; " for i in range(1, 60))
    with pytest.raises(FormatError):
        parse_print_fmt(event('"%d", ({ int a0 = REC->neg; ' + names + "a59; })"), 8)


def test_short_records() -> None:
    """What is beyond a record's end is 0 or nothing; the other records are not touched."""
    values = np.frombuffer(record() + record(), np.uint8)
    both = Records(Ragged(values, np.array([0, 114]), np.array([10, 114])))
    printer = printed('"%d %llx %s %s", REC->neg, REC->big, REC->comm, __get_str(name)')
    assert printer.texts(both) == ["0 0  ", "-5 ffffffff81000010 bash hello"]


def test_columns_of_fields() -> None:
    """Integers keep size and sign; char arrays are texts; other arrays are bytes."""
    fields = {f.name: f for f in event('""').fields}
    found = {name: column(records(record(), 2), field) for name, field in fields.items()}
    assert found["neg"].tolist() == [-5, -5]  # type: ignore[union-attr]
    assert found["small"].dtype == np.int16  # type: ignore[union-attr]
    assert found["comm"] == ["bash", "bash"]
    assert found["name"] == ["hello", "hello"]
    assert found["bytes"] == [bytes([1, 2, 0x7F, 0x80])] * 2
