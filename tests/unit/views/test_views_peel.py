"""The pure parts of ``peel``: programs, stacks, values, machine code, scripts."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from probescope.model.output import Frame, StackOut
from probescope.model.site import Field, KprobeAttach, RegArg, RegRet, Site
from probescope.model.types import Int, Pointer, Struct, Void
from probescope.views.peel import callees, panes, program, stacks, subject, text
from probescope.views.peel.program import Who
from probescope.views.peel.subject import Argument, Found, Subject
from probescope.views.peel.walk import Walk

SHOP = Subject("buy", "/bin/shop")
NAME = Argument("name", "const char* name", "text", ("args.name", "str(args.name, 64)"))
RETVAL = Argument("retval", "int retval", "number", ("retval",))
FOUND = Found(SHOP, "uprobe:/bin/shop:buy", "uretprobe:/bin/shop:buy", (NAME,), RETVAL)


def test_one_program_asks_before_the_time_begins_and_after_it_is_over() -> None:
    """Protects times from what the other steps cost."""
    made = program.text(FOUND, ["callers", "args", "time", "returns"])
    entry = next(line for line in made.splitlines() if line.startswith("uprobe:"))
    assert entry.index("@callers") < entry.index("@arg0") < entry.index("@start")
    assert made.index("@sum") < made.index("@returns")
    assert made.count("uprobe:/bin/shop") == 1
    assert program.text(FOUND, ["calls"]) == ""


def test_probes_of_names_that_are_none_of_c() -> None:
    assert Subject("ns::f(int)", "/x").probes() == ('uprobe:/x:cpp:"ns::f(int)"', 'uretprobe:/x:cpp:"ns::f(int)"')
    assert Subject("0x11e0", "/x").probes()[0] == "uprobe:/x:0x11e0"
    assert Subject("vfs_read").probes("fentry") == ("fentry:vfs_read", "fexit:vfs_read")
    assert Subject("vfs_read").probes() == ("kprobe:vfs_read", "kretprobe:vfs_read")


def test_commands_are_words_of_a_shell() -> None:
    """Protects what is copied into one: blanks and quotes of paths and commands."""
    odd = Found(Subject("f", "/a b/x"), "uprobe:/a b/x:f", "uretprobe:/a b/x:f")
    who = Who(0, ("echo", "it's"), 2.5)
    assert program.command(odd, "time", who) == "probescope span f -x '/a b/x' --seconds 2.5 -- echo 'it'\"'\"'s'"
    assert "interval:ms:2500 { exit(); }" in program.command(odd, "callers", who)
    kernel = Found(Subject("vfs_read"), "kprobe:vfs_read", "kretprobe:vfs_read")
    assert program.command(kernel, "calls", Who(12)) == "probescope graph vfs_read --depth 2 --callers -p 12"
    assert program.command(kernel, "time", Who(12)) == (
        "probescope span --nested kprobe:vfs_read to kretprobe:vfs_read -p 12"
    )


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("const char* name", "name"),
        ("int (*compare)(const void*, const void*)", "compare"),
        ("char* argv[3]", "argv"),
        ("struct file * file", "file"),
        ("int", ""),
    ],
)
def test_names_in_declarations(declaration: str, name: str) -> None:
    assert subject.name_of(declaration) == name


def frame(symbol: str, **more: Any) -> Frame:
    return Frame(0x400000, symbol, module="/bin/shop", **more)


def test_callers_behind_inlined_functions() -> None:
    """A call in code that was inlined belongs to the function around it, which is where one can go on."""
    own = [frame("buy")]
    inner, outer = frame("helper", inlined=True), frame("customer")
    one = (StackOut((*own, inner, outer, frame("main"))),)
    two = (StackOut((*own, frame("thief"), frame("main"))),)
    ways = stacks.ways({one[0]: 3, two[0]: 4}, "buy")
    found = stacks.callers(ways, "buy")
    assert [(c.shown, c.go, n) for c, n in found] == [
        ("thief", Subject("thief", "/bin/shop"), 4),
        ("helper in customer", Subject("customer", "/bin/shop"), 3),
    ]
    assert stacks.callers(stacks.ways({StackOut(()): 2}, "buy"), "buy")[0][0].shown == stacks.UNKNOWN


def test_kernel_stacks_go_on_in_the_program() -> None:
    kernel = StackOut((Frame(0xFFFFFFFF81000000, "vfs_read"), Frame(0xFFFFFFFF81000100, "ksys_read.part.0")))
    [(count, frames)] = stacks.ways({(kernel, StackOut((frame("main"),))): 5}, "vfs_read")
    assert (count, [f.symbol for f in frames]) == (5, ["vfs_read", "ksys_read.part.0", "main"])
    assert stacks.caller(stacks.beyond(frames, "vfs_read")).go == Subject("ksys_read")


def test_the_trampoline_of_fentry_is_no_caller() -> None:
    """As Linux 6.1 gives the stack of fentry:vfs_read: the trampoline, which has no symbol any more, comes first. A
    function that calls the traced one further on is none, nor is one of a program."""
    kernel = [
        Frame(0xFFFFFFFFC052E04C, "ftrace_trampoline", 76, "__builtin__ftrace"),
        Frame(0xFFFFFFFF8C9669E5, "vfs_read", 5),
        Frame(0xFFFFFFFF8C967607, "ksys_read", 183),
    ]
    [(_, frames)] = ways = stacks.ways({StackOut(tuple(kernel)): 6}, "vfs_read")
    assert [f.symbol for f in frames] == ["vfs_read", "ksys_read"]
    assert [(c.shown, n) for c, n in stacks.callers(ways, "vfs_read")] == [("ksys_read", 6)]
    around = (Frame(0xFFFFFFFF8C9669E5, "helper", 5), Frame(0xFFFFFFFF8C9669E5, "vfs_read", 120))
    assert stacks.callers(stacks.ways({StackOut(around): 1}, "vfs_read"), "vfs_read")[0][0].shown == "helper"
    mine = (frame("helper"), frame("buy"))
    assert stacks.callers(stacks.ways({StackOut(mine): 1}, "buy"), "buy")[0][0].shown == "helper"


def test_values_are_written_as_what_they_are() -> None:
    """Errors by name, also of 32 bits in a register whose type nobody knows; no name for -1 of a program."""
    guess = Argument("retval", "retval", "guess", ("retval",))
    pointer = Argument("p", "void* p", "pointer", ("args.p",))
    number = Argument("n", "int n", "number", ("args.n",))
    assert panes._written(guess, 0xFFFFFFFE, None) == "-2  ENOENT"
    assert panes._written(guess, 7, "x") == "7"
    assert panes._written(guess, 0x5500, "hello") == '"hello"'
    assert panes._written(pointer, (1 << 64) - 12, None) == f"{(1 << 64) - 12:#x}  ENOMEM"
    assert panes._written(pointer, 0x5500, None) == "0x5500"
    assert panes._written(number, -1, None) == "-1"
    assert panes._written(NAME, 0, "") == "null"
    assert panes._is_error("-22  EINVAL", number)
    assert panes._is_error(f"{(1 << 64) - 12:#x}  ENOMEM", pointer)
    assert not panes._is_error("0x5500", pointer)
    assert not panes._is_error("-5000", number)


def test_many_values_say_how_far_they_reach() -> None:
    maps = {"@returns": dict.fromkeys(range(50), 1)}
    pane = panes.pane(FOUND, "returns", maps, Who())
    assert pane.rows[-1].text == "... and 38 more values; all are from 0 to 49"
    assert pane.document["different"] == 50
    assert pane.document["errors"] == 0


def test_rows_are_numbered_once() -> None:
    """A function that stands in several rows has the number of the first."""
    go = Subject("main", "/bin/shop")
    one = panes.Pane("callers", "who", "", (panes.Row("main", go), panes.Row("main again", go)), {})
    lines = "".join(text.told(FOUND, [one]))
    assert "[1] main\n" in lines
    assert "      main again\n" in lines
    assert text.ways_on([one, one]) == [go]


def test_script_of_strange_names() -> None:
    """A name cannot leave the comment that tells it."""
    walk = Walk()
    strange = Subject("f\nrm -rf /", "/bin/shop")
    walk.enter(strange)
    walk.look(Found(strange, "", ""), [panes.Pane("time", "", "probescope span x", (), {})])
    script = walk.script()
    assert [line for line in script.splitlines() if line and not line.startswith("#")] == ["probescope span x"]
    assert walk.back() is None


def test_calls_in_machine_code() -> None:
    """x86-64: call and jmp with a distance. AArch64: bl forwards, b backwards. Encoded by the manuals."""
    x86 = b"\x90" + b"\xe8" + struct.pack("<i", 0x10) + b"\xe9" + struct.pack("<i", -11) + b"\xc3"
    assert list(callees._amd64(x86, 0x1000)) == [0x1006 + 0x10, 0x100B - 11]
    arm = struct.pack("<III", 0x94000004, 0xD503201F, 0x17FFFFFE)
    assert list(callees._arm64(arm, 0x1000)) == [0x1010, 0x1000]


def test_what_the_kernel_declares() -> None:
    """fexit tells parameters too; a text that the kernel is given lies in the program, or in the kernel."""
    lines = ["const char * filename", "int flags", "struct filename * retval"]
    field = Field("retval", Pointer(Struct("struct filename"), "kernel"), RegRet())
    found = subject.returned(field, lines)
    assert found is not None
    assert (found.text, found.kind) == ("struct filename * retval", "pointer")
    assert subject.returned(None, lines) is None
    assert subject.returned(Field("retval", Void(), RegRet()), []) is None
    fields = (Field("filename", Pointer(Int(1, True), "kernel"), RegArg(0)), Field("flags", Int(4, True), RegArg(1)))
    site = Site("kprobe:f", "kprobe", KprobeAttach("f"), fields)
    name, flags, lost = subject.declared(site, ["const char * filename", "int flags", "struct big big"])
    assert (name.kind, flags.kind, lost.lost) == ("text", "number", "cannot be read where it is entered")
    assert "uptr(args.filename)" in name.keys[1]
    assert "kptr(args.filename)" in name.keys[1]


def test_a_function_that_nobody_called_is_told() -> None:
    """Zeros alone would look like an answer."""
    who = Who(pid=1, seconds=1.0)
    for step, what in (
        ("callers", "it was not called"),
        ("args", "it was not called"),
        ("returns", "no call returned"),
    ):
        made = panes.pane(FOUND, step, {}, who)
        assert any(what in row.text for row in made.rows)
        assert not any(row.go for row in made.rows)
