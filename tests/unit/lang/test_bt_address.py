"""``&$x``: pointers to scratch variables."""

from __future__ import annotations

import pytest
from bt_host import body, findings, lower

from probescope.ir.needs import needs


def test_a_pointer_to_a_variable_has_its_type():
    """The type is that which the variable has in the end, also where it grew later."""
    made = body("kprobe:f { $a = 1; $b = &$a; $c = *$b; $a = (uint32)2; }")
    assert made[1] == "(Assign b (Address (Pointer u32 kernel) a))"
    assert made[2] == "(Assign c (Load u32 kernel (Local (Pointer u32 kernel) b)))"


def test_what_stands_there_is_the_variable_itself():
    """Tuples can be had no other way."""
    assert body('kprobe:f { $a = (1, "x"); print(*(&$a)); }')[1] == "(Emit 0 [(Local (Tuple [i8 str2]) a)])"


@pytest.mark.parametrize(
    "text",
    [
        'kprobe:f { $a = "hello"; $b = (int8 *)&$a; printf("%c %c", *$b, *++$b); }',
        "struct foo { unsigned long x:1; }; kprobe:f { $v = (uint64)1; $f = *(struct foo *)(&$v); print($f.x); }",
        "kprobe:f { let $a: size_t = 1; let $b: typeof(size_t *) = &$a; }",
        'kprobe:f { $a = username; $b = &$a; printf("%s", *$b); }',
        "kprobe:f { $a = 1; @p = &$a; $q = &$a; print(@p == $q); print($q + 1); }",
        'kprobe:f { $s = "x"; $p = &$s; print(*$p == "x"); }',
        'kprobe:f { @ = avg(*(int32 *)"abc"); $c = (int8 *)comm; print($c[1]); }',
    ],
)
def test_allowed(text):
    assert [d.message for d in findings(text) if d.severity == "error"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kprobe:f { $b = &$x; }", "Undefined or undeclared variable: $x"),
        ("kprobe:f { let $a; $b = &$a; }", "Could not resolve the type"),
        ("kprobe:f { $b = &@a; }", "Undefined map: @a"),
        ("kprobe:f { @a = 1; $b = &@a; }", "a map has no address here"),
        ('kprobe:f { $a = (1, "x"); $b = &$a; print(*$b); }', "cannot be read as"),
    ],
)
def test_refused(text, message):
    assert any(message in d.message for d in findings(text) if d.severity == "error")


def test_only_the_kernel_has_addresses():
    """A clause at begin that asks for one does not run in user space, where nothing has the address that it prints."""
    (clause,) = lower("begin { $a = 1; print(&$a); }").clauses
    assert needs(clause).reads == {"kernel"}
