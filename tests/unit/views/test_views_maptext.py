"""Maps as tables, CSV and TSV, and in formats of their own. Expected texts are written by hand; CSV is read back by
Python's own reader."""

import csv
import io

import pytest

from probescope.model.format import FormatTextError, parse_format
from probescope.model.mapformat import bind
from probescope.model.output import Frame, MapOut, StackOut
from probescope.model.types import I64, U32, U64, Agg, Opaque, Record, String, Tuple
from probescope.views.maptext import MapTexts, formatted
from probescope.views.text import TextView

KEY = Tuple((U32, String(16)))
COUNT = MapOut("n", KEY, Agg("count"), (((7, "cat"), 2), ((12345, 'a "b", c'), 10)), labels=("pid", "comm"))
STATS = MapOut("s", String(8), Agg("stats", I64), (("x", (7, 2)),), labels=("comm",))
HIST = MapOut("h", None, Agg("hist", I64, (0,)), ((None, {0: 1, 1: 0, 2: 3}),))


def test_table_columns_line_up():
    """Names of the key's expressions are the headings; numbers stand to the right."""
    assert MapTexts("table")(COUNT) == (
        '@n\n  pid  comm      count\n    7  cat           2\n12345  a "b", c     10\n\n'
    )


def test_csv_is_what_a_csv_reader_reads():
    """One header for maps of equal columns, however often they are printed; quotes and commas survive."""
    texts = MapTexts("csv")
    text = texts(COUNT) + texts(COUNT) + texts(STATS)
    assert list(csv.reader(io.StringIO(text))) == [
        ["map", "pid", "comm", "count"],
        *[["@n", "7", "cat", "2"], ["@n", "12345", 'a "b", c', "10"]] * 2,
        ["map", "comm", "count", "average", "total"],
        ["@s", "x", "2", "3", "7"],
    ]


def test_tsv_has_no_tab_or_newline_inside_a_cell():
    out = MapOut("", String(8), U64, (("a\tb\n\\", 1),))
    assert MapTexts("tsv")(out) == "map\tkey\tvalue\n@\ta\\tb\\n\\\\\t1\n"


def test_histograms_are_rows_with_open_ends_empty():
    """A bucket below zero has no lower end."""
    assert MapTexts("csv")(HIST) == "map,low,high,count\n@h,,0,1\n@h,0,1,0\n@h,1,2,3\n"


def test_stacks_in_a_cell_begin_with_the_outermost_frame():
    stack = StackOut((Frame(1, "inner", 4), Frame(2, "outer", 8), Frame(3, module="/lib/libc.so.6")))
    out = MapOut("", Opaque("kstack"), Agg("count"), ((stack, 5),))
    assert MapTexts("csv")(out) == "map,key,count\n@,[libc.so.6];outer;inner,5\n"


def test_names_of_columns_are_unique():
    """A key called count beside a count, and two items that are called alike."""
    out = MapOut("", Tuple((U32, U32)), Agg("count"), (((1, 2), 3),), labels=("count", "count"))
    assert MapTexts("csv")(out).splitlines()[0] == "map,count,key1,count_2"
    named = MapOut("", Record((("a", U32), ("value", U32))), U64, (((1, 2), 3),))
    assert MapTexts("csv")(named).splitlines()[0] == "map,a,value,value_2"


@pytest.mark.parametrize(
    ("out", "form", "text"),
    [
        (COUNT, "%#06x|%-5s|%4d\n", '0x0007|cat  |   2\n0x3039|a "b", c|  10\n'),
        (COUNT, "%d", None),
        (COUNT, "%d %s", '7 cat\n12345 a "b", c\n'),
        (STATS, "%s %d %.2f %d", "x 2 3.50 7\n"),
        (STATS, "%s: %s", "x: { .count = 2, .average = 3, .total = 7 }\n"),
        (HIST, "%3d..%3d %u", "   ..  0 1\n  0..  1 0\n  1..  2 3\n"),
        (MapOut("a", None, Agg("avg", I64), ((None, (-7, 2)),)), "%d %%", "-3 %\n"),
        (MapOut("a", None, Agg("avg", I64), ((None, (-7, 2)),)), "%.1f", "-3.5\n"),
        (MapOut("a", None, Agg("avg", I64), ((None, (3000, 2)),), div=1000), "%5.2f|", " 1.50|\n"),
        (MapOut("v", U32, U64, ((1, 5000),), div=1000), "%d=%d", "1=5\n"),
    ],
)
def test_formats_of_single_maps(out, form, text):
    """The items of the key, then the value or its parts; an average has its fraction where one is asked for."""
    if text is None:
        with pytest.raises(FormatTextError, match="a key of 2 items"):
            bind(parse_format(form), out.key_type, out.value_type)
    else:
        assert formatted(out, parse_format(form)) == text


@pytest.mark.parametrize(
    ("form", "key", "value", "about"),
    [
        ("%d %d", String(8), U64, "'%d' cannot print a value of type 'string\\[8\\]'"),
        ("%s %d", String(8), Agg("hist", I64, (0,)), "'%d' cannot print"),
        ("%s %r", String(8), U64, "'%r' cannot print"),
        ("nothing", String(8), U64, "0 conversions"),
    ],
)
def test_formats_that_do_not_suit(form, key, value, about):
    with pytest.raises(FormatTextError, match=about):
        bind(parse_format(form), key, value)


def test_the_programs_own_format_comes_before_the_style():
    """print(@m, "...") is what its author wants whatever the other maps look like."""
    own = MapOut("n", None, U64, ((None, 255),), format=parse_format("%x"))
    assert TextView().show(own)[0] == "ff\n"
    assert TextView(maps=MapTexts("csv")).show(own)[0] == "ff\n"
    assert TextView(maps=MapTexts("lines", {"n": parse_format("%d!")})).show(own)[0] == "ff\n"


def test_csv_is_not_preceded_by_an_empty_line():
    """At the end, text has an empty line before the maps; who reads CSV does not want it."""
    final = MapOut("n", None, U64, ((None, 1),), final=True)
    assert TextView().show(final)[0] == "\n@n: 1\n"
    assert TextView(maps=MapTexts("csv")).show(final)[0] == "map,value\n@n,1\n"
