"""What is refused beyond types: contradictions, what stands where nothing happens, names that are taken."""

from __future__ import annotations

import pytest
from bt_host import body, findings, warnings

CONDITION = 'if comptime (typeinfo({what}).full_type == "uint32") {{ {body} }}'
REFUSED = {
    # a branch that would undo its own condition
    "begin { " + CONDITION.format(what="@a", body="@a = (uint64)2;") + " @a = (uint32)1; }": "has been locked",
    "begin { " + CONDITION.format(what="@a", body="@a[(uint64)2] = 2;") + " @a[(uint32)1] = 1; }": "has been locked",
    "begin { let $c; " + CONDITION.format(what="$c", body="$c = (uint64)2;") + " $c = (uint32)1; }": "has been locked",
    "begin { let $c; " + CONDITION.format(what="{ let $x = $c; $x }", body="$c = (uint64)2;") + " $c = (uint32)1; }": (
        "has been locked"
    ),
    # nothing happens inside of these
    "begin { print(sizeof({ @a = 1; 1 })); }": "Map assignments not allowed inside of",
    "begin { let $b: typeof({ @a = 1; 1 }) = 1; }": "Map assignments not allowed inside of",
    "begin { $b = typeinfo({ @a = 1; 1 }); }": "Map assignments not allowed inside of",
    # contexts that are not there
    "tracepoint:sched:sched_switch { print((uint64)ctx); }": "Use args instead of ctx in tracepoint",
    "begin { $x = ctx; }": "The ctx builtin can not be used",
    # C types
    "struct a { int x; }; struct a { int x; }; begin { }": "redefinition of 'struct a'",
    "enum e { A }; enum e { B }; begin { }": "redefinition of 'enum e'",
    "struct a { struct b x; }; begin { }": "struct b is not defined",
    "struct a { struct a x; }; begin { }": "contains itself",
    "struct a { nosuch_t x; }; begin { }": "unknown type nosuch_t",
    # probes
    "test:a { } test:a { }": '"a" was used as the name for more than one test probe',
    # what the script itself forbids
    "config = { unstable_tseries = error } begin { @ = tseries(4, 1s, 10); }": "tseries is an unstable feature",
    "config = { unstable_typeinfo = error } begin { print(typeinfo(1)); }": "typeinfo is an unstable feature",
}
ALLOWED = [
    "begin { " + CONDITION.format(what="@a", body="@a = (uint16)2;") + " @a = (uint32)1; }",
    "begin { " + CONDITION.format(what="@a", body="@a[(uint32)2] = 2;") + " @a[(uint32)1] = 1; }",
    "begin { @x = 1; " + CONDITION.format(what="@y", body="@x = (int32)2;") + " @y = (uint32)2; }",
    "struct a; struct a { int x; }; begin { }",
    "struct a { struct b *x; }; begin { }",
    "struct task_struct { int own; }; kprobe:f { print(((struct task_struct *)arg0).own); }",
    "fentry:tcp_shutdown { print((uint64)ctx); }",
    "config = { unstable_tseries = warn } begin { @ = tseries(4, 1s, 10); }",
    "begin { __builtin_exit(); print(__builtin_comm()); }",
]


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_refused(text, message):
    """Each of these is a mistake that would otherwise go unnoticed."""
    said = [d.message for d in findings(text, mode="test") if d.severity == "error"]
    assert said
    assert message in said[0]


@pytest.mark.parametrize("text", ALLOWED)
def test_allowed(text):
    """The same shapes where they make sense."""
    assert [d.message for d in findings(text) if d.severity == "error"] == []


@pytest.mark.parametrize(
    ("probe", "value"),
    [("begin", "(Const u8 1)"), ("kprobe:f", "(Context bool usermode)"), ("fentry:fget", "(Const u8 0)")],
)
def test_usermode_is_known_where_nothing_was_interrupted(probe, value):
    """A clause at begin stays one that user space can run."""
    assert value in body(f"{probe} {{ print(usermode); }}")[0]


def test_the_depth_of_a_stack():
    """Of the present one, also out of a variable; what lies in a map may be another one."""
    stack = "(Call u64 stack_len [(Stack (Opaque ustack bpftrace 3))])"
    assert stack in body("uprobe:/a:f { print(len(ustack(3))); }")[0]
    assert stack in body("uprobe:/a:f { $x = ustack(3); print(len($x)); }")[1]
    assert "known only when it is printed" in findings("kprobe:f { @x[1] = kstack; print(len(@x[1])); }")[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kprobe:f { let $x; }", "Variable $x was never assigned to."),
        ("fn g(): void { let $x; } kprobe:f { g(); }", "Variable $x was never assigned to."),
        ("kprobe:f { $a = (uint64)pid + (int64)tid; }", "being cast to type: int64"),
        ('kprobe:f { $a = (string[6])"hello"; }', "Unnecessary cast"),
        ("kprobe:f { $a = (uint64)pid - (uint64)tid; }", ""),
        ("kprobe:f { $a = (uint32)1 + (int32)2; }", ""),
        ("kprobe:f { let $x; $x = 1; print($x); }", ""),
        (
            "fentry:vfs_read { print(path((struct path *)1, 99999999999)); }",
            "length param (99999999999) is too long and will be shortened to 1024 bytes",
        ),
    ],
)
def test_warnings(text, message):
    """What may be a mistake is told; what every script does is not."""
    said = warnings(text)
    assert (any(message in m for m in said)) if message else said == []


class NoTypes:
    """A kernel without BTF."""

    def layout(self, name):
        return None

    named = enumerator = layout

    def enum_values(self, name):
        return ()

    def names(self):
        return []


@pytest.mark.parametrize(
    "text",
    [
        "kprobe:f { print(curtask.pid) }",
        "kprobe:f { print(((struct task_struct *)arg0).pid) }",
        "kprobe:f { print(args.x) }",
        "kprobe:f { print(sizeof(struct file)) }",
        "kprobe:f { $x = (pid_t)1; }",
        "kprobe:f { print((enum foo)1) }",
    ],
)
@pytest.mark.parametrize("types", [NoTypes(), None], ids=["empty", "none"])
def test_where_the_kernel_has_no_types_that_is_said(text, types):
    """It is no mistake of the script, and there is something to do about it."""
    (finding,) = findings(text, types=types)
    assert any("CONFIG_DEBUG_INFO_BTF" in h for h in finding.hints)
