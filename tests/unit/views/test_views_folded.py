"""Folded lines: ``frame;frame;frame count``, the outermost frame first, as flamegraph.pl and its successors read."""

import json

from probescope.model.output import Attached, Frame, MapOut, StackOut, Text, ValueOut
from probescope.model.types import I64, U64, Agg, Opaque, String, Tuple
from probescope.views.folded import FoldedView, folded_map
from probescope.views.json import JsonView

K, U = Opaque("kstack"), Opaque("ustack")
KERNEL = StackOut((Frame(1, "vfs_read", 10), Frame(2, "entry", 3)))
USER = StackOut((Frame(3, "read", 4), Frame(4, "main", 5), Frame(5, module="/usr/lib/libc.so.6")), user=True)


def test_user_frames_stand_before_kernel_frames():
    """Whatever their order in the key: the user program called into the kernel."""
    expected = "cat;[libc.so.6];main;read;entry_[k];vfs_read_[k] 7\n"
    for t, key in (
        (Tuple((K, U, String(8))), (KERNEL, USER, "cat")),
        (Tuple((String(8), U, K)), ("cat", USER, KERNEL)),
    ):
        assert folded_map(MapOut("", t, Agg("count"), ((key, 7),))) == expected


def test_equal_lines_are_one():
    """Two places in one function are one frame: their weights add up."""
    other = StackOut((Frame(9, "vfs_read", 99), Frame(2, "entry", 3)))
    assert folded_map(MapOut("", K, Agg("count"), ((KERNEL, 2), (other, 3)))) == "entry_[k];vfs_read_[k] 5\n"


def test_what_would_break_a_line_is_replaced():
    odd = StackOut((Frame(1, "a;b\nc"),), user=True)
    assert folded_map(MapOut("", Tuple((String(8), U)), U64, ((("x;y\n", odd), 1),))) == "x:y ;a:b c 1\n"


def test_no_stack_at_all():
    """A kernel thread has no user frames: its hits still count."""
    assert folded_map(MapOut("", U, Agg("count"), ((StackOut((), user=True), 4),))) == "[no stack] 4\n"


def test_weights():
    """Averages weigh as their total, histograms as the number of their values, stacks that are values as 1."""
    assert folded_map(MapOut("", K, Agg("stats", I64), ((KERNEL, (30, 4)),))).endswith(" 30\n")
    assert folded_map(MapOut("", K, Agg("hist", I64, (0,)), ((KERNEL, {1: 3, 5: 4}),))).endswith(" 7\n")
    assert folded_map(MapOut("", String(8), K, (("cat", KERNEL),))) == "cat;entry_[k];vfs_read_[k] 1\n"


def test_all_else_goes_to_stderr():
    """Standard output is a file for flame graphs, and for nothing else."""
    view = FoldedView()
    assert view.show(Text("printf", "hello\n")) == ("", "hello\n")
    assert view.show(MapOut("x", None, U64, ((None, 1),))) == ("", "@x: 1\n")
    assert view.show(Attached(2)) == ("", "Attached 2 probes\n")
    assert view.show(ValueOut(K, KERNEL)) == ("entry_[k];vfs_read_[k] 1\n", "")
    assert view.end() == ""


def test_several_maps_are_told_apart():
    out = MapOut("on", K, Agg("count"), ((KERNEL, 2),))
    assert FoldedView(named=True).show(out)[0] == "@on;entry_[k];vfs_read_[k] 2\n"


def test_json_array_is_one_document():
    """Whatever was shown before the end, and when nothing was."""
    for n in range(4):
        view = JsonView(array=True)
        text = "".join(view.show(Text("printf", f"{i}"))[0] for i in range(n)) + view.end()
        assert json.loads(text) == [{"type": "printf", "data": f"{i}"} for i in range(n)]
    assert JsonView().end() == ""
