"""Text as users of bpftrace know it: expected blocks are what bpftrace itself prints for the same values."""

from probescope.frozen import replace
from probescope.model.aggregate import monoid
from probescope.model.output import Attached, Lost, MapOut, Text, ValueOut
from probescope.model.types import BOOL, I64, U64, Agg, Array, Record, String, Tuple
from probescope.views.json import JsonView
from probescope.views.text import TextView, lost_text


def _state(agg: Agg, *values: int):
    m = monoid(agg)
    state = m.identity()
    for v in values:
        state = m.update(state, v, 1)
    return state


def _hist(agg: Agg, *values: int) -> str:
    return TextView().show(MapOut("", None, agg, ((None, _state(agg, *values)),)))[0]


def test_hist():
    """bpftrace -e 'BEGIN { @ = hist(-1); @ = hist(2); @ = hist(3); @ = hist(5); @ = hist(20); }'"""
    assert _hist(Agg("hist", args=(0,)), -1, 2, 3, 5, 20) == (
        "@:\n"
        "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "[0]                    0 |                                                    |\n"
        "[1]                    0 |                                                    |\n"
        "[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
        "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "[8, 16)                0 |                                                    |\n"
        "[16, 32)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "\n"
    )


def test_lhist():
    """bpftrace -e 'BEGIN { @ = lhist(-5, 0, 10, 2); @ = lhist(2, 0, 10, 2); @ = lhist(3, 0, 10, 2); ... }'"""
    assert _hist(Agg("lhist", args=(0, 10, 2)), -5, 2, 3, 7, 11) == (
        "@:\n"
        "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "[0, 2)                 0 |                                                    |\n"
        "[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
        "[4, 6)                 0 |                                                    |\n"
        "[6, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "[8, 10)                0 |                                                    |\n"
        "[10, ...)              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
        "\n"
    )


def test_kilobyte_labels():
    """Powers of 1024 take their suffix: [512, 1K), [1M, 2M)."""
    text = _hist(Agg("hist", args=(0,)), 600, 1 << 20)
    assert text.splitlines()[1].startswith("[512, 1K)              1 |")
    assert text.splitlines()[-2].startswith("[1M, 2M)               1 |")


def test_keys_and_values():
    key = Tuple((I64, String(8)))
    out = MapOut("x", key, I64, (((1, "a"), 2), ((3, "b"), 4)))
    assert TextView().show(out)[0] == "@x[1, a]: 2\n@x[3, b]: 4\n"


def test_scalars_and_stats():
    stats = Agg("stats")
    assert TextView().show(MapOut("s", None, stats, ((None, _state(stats, 1, 2, 3)),)))[0] == (
        "@s: { .count = 3, .average = 2, .total = 6 }\n"
    )
    assert TextView().show(MapOut("a", None, Agg("avg"), ((None, (-10, 3)),)))[0] == "@a: -3\n"


def test_print_values():
    t = Tuple((I64, String(4), Array(I64, 2), Record((("a", BOOL),))))
    assert TextView().show(ValueOut(t, (1, "x", (2, 3), (True,))))[0] == "(1, x, [2,3], { .a = true })\n"


def test_streams_are_kept_apart():
    """What the tool says goes to stderr, what the program prints to stdout."""
    view = TextView()
    assert view.show(Attached(2)) == ("", "Attached 2 probes\n")
    assert view.show(Attached(1)) == ("", "Attached 1 probe\n")
    assert TextView(quiet=True).show(Attached(1)) == ("", "")
    assert view.show(Text("errorf", "no\n")) == ("", "no\n")
    assert view.show(Lost("ring_full", 3, "events were lost", "print less"))[1] == (
        "WARNING: 3 events were lost\nHINT: print less\n"
    )


def test_json_lines():
    """One valid document a line, with bpftrace's own types."""
    view = JsonView()
    assert view.show(Attached(1))[0] == '{"type": "attached_probes", "count": 1, "data": {"probes": 1}}\n'
    assert view.show(Text("printf", "a\n"))[0] == '{"type": "printf", "data": "a\\n"}\n'
    assert view.show(Text("system", "x"))[0] == '{"type": "syscall", "data": "x"}\n'
    hist = Agg("hist", args=(0,))
    assert view.show(MapOut("h", None, hist, ((None, _state(hist, 2, 5)),)))[0] == (
        '{"type": "hist", "data": {"@h": [{"min": 2, "max": 3, "count": 1},{"min": 4, "max": 7, "count": 1}]}}\n'
    )
    key = Tuple((String(8), I64))
    assert (
        view.show(MapOut("c", key, U64, ((("bpftrace", 2), 5),)))[0]
        == '{"type": "map", "data": {"@c": {"bpftrace,2": 5}}}\n'
    )
    stats = Agg("stats")
    assert view.show(MapOut("s", None, stats, ((None, (12, 2)),)))[0] == (
        '{"type": "stats", "data": {"@s": {"count": 2, "average": 6, "total": 12}}}\n'
    )


def test_json_of_bytes_that_are_not_text():
    """A file name of arbitrary bytes still gives valid JSON."""
    assert JsonView().show(Text("printf", b"\xff".decode("utf-8", "surrogateescape")))[0] == (
        '{"type": "printf", "data": "\\\\xff"}\n'
    )


def test_helpers_that_failed():
    """bpftrace's own form (src/output of 0.26); ours adds a count where there is more than one."""
    one = Lost("read", 1, "Bad address", "", "stdin:1:87-100", "probe_read_user", -14, "text\n ~~")
    assert JsonView().show(one)[0] == (
        '{"type": "helper_error", "msg": "Bad address", "helper": "probe_read_user", "retcode": -14, '
        '"filename": "stdin", "line": 1, "col": 87}\n'
    )
    assert '"count": 3, "msg"' in JsonView().show(replace(one, count=3))[0]
    assert lost_text(replace(one, count=3, hint="wait")) == (
        "stdin:1:87-100: WARNING: Bad address (3 times)\n"
        "Additional Info - helper: probe_read_user, retcode: -14\ntext\n ~~\nHINT: wait\n"
    )


def test_json_of_errors_of_the_script():
    """Message and place apart, as bpftrace's own documents have them; what the kernel could not read is one too."""
    text = Text("errorf", "stdin:2:9-20: ERROR: no\n", message="no\n", place="stdin:2:9-20")
    assert JsonView().show(text)[0] == (
        '{"type": "errorf", "msg": "no\\n", "filename": "stdin", "line": 2, "col": 9}\n'
    )
    lost = JsonView().show(Lost("read", 3, "reads failed", place="a:b.bt:7-9"))[0]
    assert '"type": "helper_error", "count": 3' in lost
    assert lost.endswith('"filename": "a:b.bt", "line": 7, "col": 1}\n')
    assert "filename" not in JsonView().show(Lost("missed", 3, "hits were passed over"))[0]
