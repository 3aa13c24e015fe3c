"""The kernel's format texts become fields: places, signs, arrays, dynamic ones; damage costs lines, not the event.

Texts are as kernels of 2.6.32, 4.1 and 6.18 print them; expected values are read off them by eye.
"""

from __future__ import annotations

import pytest

from probescope.errors import FormatError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.recording import RawField

SWITCH = """name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:u8 addr[4][2];\toffset:24;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;
\tfield:__rel_loc unsigned long[] stack;\toffset:36;\tsize:4;\tsigned:0;
\tfield:const char * filename;\toffset:40;\tsize:8;\tsigned:0;

print fmt: "prev_comm=%s", REC->prev_comm
"""


def test_fields_of_every_kind() -> None:
    """Protects what readers of raw records stand on."""
    event = parse_event_format(SWITCH, "sched")
    assert (event.name, event.id) == ("sched:sched_switch", 372)
    assert event.print_fmt == '"prev_comm=%s", REC->prev_comm'
    assert event.fields == (
        RawField("common_type", "unsigned short", 0, 2, False),
        RawField("common_pid", "int", 4, 4, True),
        RawField("prev_comm", "char", 8, 16, False, 16),
        RawField("addr", "u8", 24, 8, False, 8),
        RawField("name", "char", 32, 4, False, 0, "data"),
        RawField("stack", "unsigned long", 36, 4, False, 0, "rel"),
        RawField("filename", "const char *", 40, 8, False),
    )


def test_formats_of_old_kernels() -> None:
    """Signs were not told before 2.6.34, and dimensions were names before 5.11."""
    event = parse_event_format(
        "name: wakeup\nID: 5\nformat:\n"
        "\tfield:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\n"
        "\tfield:pid_t pid;\toffset:24;\tsize:4;\n"
        "\tfield:unsigned long ip;\toffset:32;\tsize:8;\n"
        "\tfield special:char buf[];\toffset:40;\tsize:0;\n"
        'print fmt: "%s", REC->comm\n',
        "ftrace",
    )
    assert [(f.name, f.size, f.signed, f.count) for f in event.fields] == [
        ("comm", 16, True, 16),
        ("pid", 4, True, 0),
        ("ip", 8, False, 0),
        ("buf", 0, True, 0),
    ]


@pytest.mark.parametrize("text", ["", "name: x\n", "ID: 3\n", "\0" * 100, "name: x\nID: 99999999999\n"])
def test_what_is_no_format_is_refused(text: str) -> None:
    """Protects callers: FormatError and nothing else."""
    with pytest.raises(FormatError):
        parse_event_format(text, "sys")


def test_damaged_lines_are_left_out() -> None:
    """One broken line must not cost the others; places beyond any record are no places."""
    broken = SWITCH.replace("\tfield:u8 addr[4][2]", "\tfield:u8 [[[").replace("offset:40", "offset:4000000")
    names = [f.name for f in parse_event_format(broken, "sched").fields]
    assert names == ["common_type", "common_pid", "prev_comm", "name", "stack"]


def test_cut_anywhere() -> None:
    """Every prefix is a format or a FormatError."""
    for end in range(len(SWITCH)):
        try:
            parse_event_format(SWITCH[:end], "sched")
        except FormatError:
            assert end < 30
