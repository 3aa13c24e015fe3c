"""Scripts that the language allows and refuses, by subject, taken from its documentation.

A refused one stands with the beginning of its message and the text that the message points at.
"""

from __future__ import annotations

import pytest
from bt_host import findings

from probescope.diagnostics import Source

ALLOWED = {
    "integers": [
        "kprobe:f { $x = 1; $x = -1; }",
        "kprobe:f { $x = (uint8)1; $x = -1; }",
        "kprobe:f { $x = 9223372036854775807; $x = -2147483648; }",
        "kprobe:f { let $a: int16 = 1; $a = (int8)2; }",
        "kprobe:f { let $a: uint16 = (uint16)-1; }",
        "kprobe:f { let $a: uint8; $a = (int8)1; }",
        "kprobe:f { $a = 1_000 + 0x10 + 1e3 + 5ms; }",
        "kprobe:f { @ = true; @ = false; }",
        "kprobe:f { $a = true; $b = $a + 1; $c = $a == false; }",
        "kprobe:f { $x = ~0; $y = !$x; $z = -$x; }",
        "kprobe:f { $s = 1 << 5; $r = $s >> 2; $m = $r % 3; }",
    ],
    "strings": [
        'kprobe:f { $s = "a"; $s = "longer"; }',
        'kprobe:f { let $s: string = "hi"; $s = "muchlonger"; }',
        'kprobe:f { let $s: string[6] = "hello"; }',
        'kprobe:f { if (comm == "bash" && comm != "sh") { } }',
        'kprobe:f { $c = "foo"[1]; $d = comm[0]; }',
        'kprobe:f { @[comm] = 1; @["abc"] = 2; }',
        'kprobe:f { print(str(arg0) == "x"); }',
    ],
    "maps": [
        "kprobe:f { @x = @y; @y = 2; }",
        "kprobe:f { @x[@y[@z]] = 5; @y[2] = 1; @z = @x[0]; }",
        "kprobe:f { @x[1, 2] = 0; @x[(3, 4)] = 1; }",
        'kprobe:f { @x[1, "a", kstack] = 0; @x[2, "bc", kstack] = 1; }',
        "kprobe:f { if (!@i) { @i++; } }",
        "kprobe:f { @a = 1; @b = count(); @a = @b; }",
        "kprobe:f { @c = count(); if (@c > 5) { clear(@c); } print((@c, 1)); }",
        "kprobe:f { @x[1] = 1; delete(@x, 1); delete(@x[1]); $was = delete(@x, 2); }",
        "kprobe:f { @x = 1; delete(@x); }",
        "kprobe:f { if (has_key(@x, 1)) { delete(@x, 1); } @x[1]++; }",
        "kprobe:f { @map[1, 2] = 1; for ($kv : @map) { @map[$kv.0] = 2; } }",
        "begin { for ($kv : @map) { @map[$kv.0] } @map[0] = 1; }",
        'kprobe:f { @t[(a=1, b="x")] = 1; @t[(b="yy", a=2)] = 2; }',
        "kprobe:f { @x = sum((uint32)1); @x = sum(-1); }",
        "let @a = lruhash(2); kprobe:f { @a[1] = 1; }",
        "let @a = percpuhash(2); kprobe:f { @a[1] = count(); }",
    ],
    "scopes": [
        "kprobe:f { if (pid) { let $x = 1; } $x = 2; }",
        "kprobe:f { if (pid) { let $x = 1; } else { let $x = 2; } let $x = 3; }",
        "kprobe:f { let $x = { let $x = 1; $x }; print($x); }",
        'kprobe:f { $x = 1 } kprobe:g { $x = "abc"; }',
        'kprobe:f { unroll(2) { $b = 1; print($b); } while (0) { $b = "s"; } }',
        "kprobe:f { let $a; $a = $a + 1; $a = 1; }",
    ],
    "control flow": [
        "kprobe:f { for ($i : 0..5) { if ($i == 2) { break; } if ($i == 1) { continue; } return; } }",
        "kprobe:f { for ($i : (-3)..3) { for ($j : 0..$i) { print(($i, $j)); } } }",
        "kprobe:f { $x = pid < 5 ? 1 : 1000; $y = pid ?: 3; }",
        'kprobe:f { pid ? printf("a") : exit(); }',
        "begin { return 1; }",
        'kprobe:f / "str" / { }',
        "kprobe:f / true / { }",
        "kprobe:f { if (curtask) { } $b = (curtask && 1); }",
    ],
    "types": [
        "struct A { int x; } kprobe:f { $p = (struct A *)arg0; print($p->x); print(($p + 1).x); print(*$p); }",
        "struct A { int x[4]; } kprobe:f { $p = (struct A *)arg0; @ = ($p.x == $p.x); @a[0] = $p.x; }",
        "union U { int a; char b[4]; } kprobe:f { $p = (union U *)arg0; print($p.a); print($p.b); }",
        'enum E { ONE = 1, TWO } kprobe:f { $e = ONE; printf("%d %s", $e, TWO); print((enum E)2); }',
        "kprobe:f { $x = (int32 *)0; if ($x == 0) { } $y = $x + 5; $x++; }",
        "kprobe:f { $pp = (int8 **)1; $p = *$pp; $v = *$p; }",
        'kprobe:f { $a = (int8[])"hello"; $b = (uint8[4])(uint32)1; $c = (bool[4])1; }',
        "kprobe:f { $x = (uint8)1; let $y: typeof($x); $y = (typeof($x))2; }",
        "typedef unsigned int my_t; struct S { my_t a:3, b:5; }; kprobe:f { print(((struct S *)arg0).b); }",
        "kprobe:f { $a = (pid_t)arg0; $b = (uint64_t)1; $c = (unsigned long)2; }",
    ],
    "probes": [
        "kprobe:a, kprobe:b { print(arg0); }",
        "kretprobe:a, uretprobe:/bin/x:b { print(retval); }",
        "fentry:vfs_read { $x = args; print(args); @[args] = 1; }",
        "rawtracepoint:x { print(arg1); print(args.how); }",
        "usdt:/bin/x:p { print(arg1); }",
        "iter:task { print(ctx.task.pid); }",
        "profile:hz:99 { @[kstack] = count(); }",
        "self:signal:SIGUSR1 { print(1); }",
    ],
    "functions": [
        "fn f($a: int64): int64 { return $a; } kprobe:f { @ = f(1); }",
        "fn f(): void { return; }  kprobe:f { f(); }",
        "fn f($x: typeof($y), $y: int64): typeof($x) { return 0; } kprobe:f { print(f(1, 2)); }",
        "fn f($x: int64): int64 { if ($x > 1) { return 1; } else { return 2; } } kprobe:f { print(f(1)); }",
    ],
}

REFUSED = {
    "names": [
        ("kprobe:f { fake }", "Unknown identifier: 'fake'", "fake"),
        ("kprobe:f { fooo(1); }", "Unknown function: 'fooo'", "fooo(1)"),
        ("kprobe:f { print($x); }", "Undefined or undeclared variable: $x", "$x"),
        ("kprobe:f { print(@x); }", "Undefined map: @x", "@x"),
        ("kprobe:f { for ($kv : @x) { } }", "Undefined map: @x", "@x"),
        ("kprobe:f { delete(@x, 1); }", "Undefined map: @x", "@x"),
        ("kprobe:f { delete(@x[1]); }", "Undefined map: @x", "@x"),
        ("kprobe:f { if (has_key(@x, 1)) { } }", "Undefined map: @x", "@x"),
        ("kprobe:f { print(len(@x)); }", "Undefined map: @x", "@x"),
        ("kprobe:f { if (pid) { $x = 1; } print($x); }", "Undefined or undeclared variable: $x", "$x"),
        ("kprobe:f { let $x; if (pid) { let $x = 1; } }", "Variable $x was already declared", "let $x = 1"),
        ("kprobe:f { $i = 1; for ($i : 0..3) { } }", "Loop declaration shadows", "$i"),
    ],
    "assignment": [
        ('kprobe:f { $x = 1; $x = "foo"; }', "Type mismatch for $x", '$x = "foo"'),
        ('kprobe:f { @x = 0; @x = "a"; }', "Type mismatch for @x", '@x = "a"'),
        ('kprobe:f { @x = 1 } kprobe:g { @x = "abc" }', "Type mismatch for @x", '@x = "abc"'),
        ("kprobe:f { let $a: uint16 = -1; }", "Type mismatch for $a", "let $a: uint16 = -1"),
        ("kprobe:f { let $a: uint8 = (uint8)1; $a = 10000; }", "Type mismatch for $a", "$a = 10000"),
        ("kprobe:f { $a = -1; $a = 9223372036854775808; }", "Type mismatch for $a", "$a = 9223372036854775808"),
        ('kprobe:f { let $x: string[3] = "helloooooo"; }', "Type mismatch for $x", 'let $x: string[3] = "helloooooo"'),
        ('kprobe:f { $x = printf("a"); }', "Value 'void' cannot be assigned to a scratch variable", '$x = printf("a")'),
        ("kprobe:f { @a = hist(10); $b = @a; }", "Value 'hist_t' cannot be assigned to a scratch variable", "$b = @a"),
        (
            "kprobe:f { @y = count(); @x = @y; }",
            "Map value 'count_t' cannot be assigned from one map to another",
            "@x = @y",
        ),
        ("kprobe:f { @ = count(); @ += 5 }", "Type mismatch for @", "@ += 5"),
        ('kprobe:f { @x = "a"; @x++; }', "The ++ operator", "@x++"),
        ("kprobe:f { pid = 1; }", "", ""),
        ("kprobe:f { let $a: sum_t; }", "Invalid variable declaration type: sum_t", "sum_t"),
    ],
    "keys": [
        ("kprobe:f { @x = 0; @x[1] = 2; }", "@x used as a map with an explicit key", "@x[1]"),
        ("kprobe:f { @x[1] = 0; @x = 2; }", "@x used as a map without an explicit key", "@x"),
        ("kprobe:f { @x[1] = 0; @x[2, 3] = 1; }", "Argument mismatch for @x", "@x[2, 3]"),
        ('kprobe:f { @x[1] = 1; print(@x["a"]); }', "Argument mismatch for @x", '@x["a"]'),
        (
            "kprobe:f { @x[-1] = 1; @x[10223372036854775807] = 1; }",
            "Argument mismatch for @x",
            "@x[10223372036854775807]",
        ),
        ("kprobe:f { @h = hist(1); @y[@h] = 1; }", "Value 'hist_t' cannot be used as a map key", "@y[@h]"),
        ("kprobe:f { @a[1] = 1; delete(@a); }", "call to delete() with a single argument", "delete(@a)"),
        (
            "kprobe:f { @a = 1; has_key(@a, 1); }",
            "call to has_key() expects a map with explicit keys",
            "has_key(@a, 1)",
        ),
        ("kprobe:f { @a = 1; for ($kv : @a) { } }", "@a has no explicit keys", "@a"),
        ("kprobe:f { @h[1] = hist(1); for ($kv : @h) { } }", "Loop expression does not support type: hist_t", "@h"),
        ("let @a = hash(2); kprobe:f { @a = count(); }", "Incompatible map types", "@a"),
        ("let @a = potato(2); kprobe:f { @a = 1; }", "Invalid bpf map type: potato", "let @a = potato(2)"),
    ],
    "aggregations": [
        ("kprobe:f { hist(1); }", "hist() must be assigned directly to a map", "hist(1)"),
        ("kprobe:f { $x = count(); }", "count() must be assigned directly to a map", "count()"),
        ("kprobe:f { @x = 1; @x = count(); }", "Type mismatch for @x", "count()"),
        ("kprobe:f { $n = 3; @x = hist(1, $n); }", "hist() expects a int literal", "hist(1, $n)"),
        ("kprobe:f { @x = hist(1, 6); }", "hist: bits 6 must be 0..5", "hist(1, 6)"),
        ("kprobe:f { @x = lhist(1, 10, 0, 1); }", "lhist() min must be less than max", "lhist(1, 10, 0, 1)"),
        ("kprobe:f { @x = lhist(1, 0, 10, 0); }", "lhist() step must be >= 1", "lhist(1, 0, 10, 0)"),
        ("kprobe:f { @x = lhist(1, 0, 100000, 1); }", "lhist() too many buckets", "lhist(1, 0, 100000, 1)"),
        ('kprobe:f { @x = sum("a"); }', "sum() only supports int arguments (string provided)", 'sum("a")'),
        ('kprobe:f { @x = tseries(1, 1s, 5, "potato"); }', "tseries() expects one of", 'tseries(1, 1s, 5, "potato")'),
        ("kprobe:f { @x = hist(1); print(@x[1]); }", "@x used as a map with an explicit key", "@x[1]"),
        ("kprobe:f { @x[1] = stats(1); print(@x[1]); }", "Map type stats_t cannot print", "print(@x[1])"),
    ],
    "operators": [
        ('kprobe:f { $x = 1 + "a"; }', "Type mismatch for '+'", '1 + "a"'),
        ('kprobe:f { $x = comm < "b"; }', "The < operator can not be used", 'comm < "b"'),
        ("kprobe:f { $p = (int32 *)0; $x = 5 - $p; }", "The - operator can not be used", "5 - $p"),
        ("kprobe:f { $p = (int32 *)0; $x = $p * 2; }", "The * operator can not be used", "$p * 2"),
        ('kprobe:f { $x = -"a"; }', "The - operator can not be used", '-"a"'),
        ("kprobe:f { $x = ~true; }", "The ~ operator can not be used", "~true"),
        ('kprobe:f { *"0"; }', "The * operator can not be used", '*"0"'),
        ("kprobe:f { ++5; }", "", ""),
        ("kprobe:f { if (kstack) { } }", "Invalid condition: kstack_bpftrace_127", "kstack"),
        ('kprobe:f { $x = pid ? 1 : "a"; }', "Branches must return the same type", 'pid ? 1 : "a"'),
        ("kprobe:f { $a = (1, 2); $b = (1, 2, 3); $c = $a == $b; }", "Type mismatch for '=='", "$a == $b"),
        ("kprobe:f { $a = (1, 2); print($a.5); }", "Invalid tuple index: 5", "$a.5"),
        ("kprobe:f { print((a=1).b); }", "Record does not contain a field named 'b'", "(a=1).b"),
    ],
    "structs": [
        (
            "struct A { int x; } kprobe:f { $p = (struct A *)arg0; $p.blah }",
            "Struct/union of type 'struct A' does not contain",
            "$p.blah",
        ),
        ("kprobe:f { (struct faketype *)cpu }", 'Cannot resolve unknown type "struct faketype"', "struct faketype"),
        ("kprobe:f { 1234.field }", "", ""),
        ("kprobe:f { $x = 5; $x.field }", "Can not access field 'field' on expression of type 'int8'", "$x.field"),
        (
            "struct A { int y[4]; } kprobe:f { $p = (struct A *)arg0; $p.y[5] }",
            "the index 5 is out of bounds",
            "$p.y[5]",
        ),
        (
            "struct A { int y[4]; } kprobe:f { $i = -1; $p = (struct A *)arg0; $p.y[$i] }",
            "The array index operator [] only accepts",
            "$p.y[$i]",
        ),
        (
            "struct A { int x; } kprobe:f { (uint32)*(struct A *)arg0 }",
            'Cannot cast from C type "struct A"',
            "(uint32)*(struct A *)arg0",
        ),
        (
            "kprobe:f { print(curtask.percpu_thing); }",
            "Attempting to access pointer field 'percpu_thing'",
            "curtask.percpu_thing",
        ),
        (
            "enum E { A = 1 } kprobe:f { print((enum E)3); }",
            "Enum: E doesn't contain a variant value of 3",
            "(enum E)3",
        ),
        (
            "struct A { int x; } kprobe:f { print(offsetof(struct A, y)); }",
            "'struct A' has no field named 'y'",
            "offsetof(struct A, y)",
        ),
        (
            "struct A { struct B b; } kprobe:f { print(sizeof(struct A)); }",
            "struct A cannot be laid out: struct B is not defined",
            "struct A { struct B b; }",
        ),
        ("kprobe:f { $p = (void *)arg0; print(*$p); }", "Can not dereference a pointer to void", "*$p"),
    ],
    "calls": [
        ("kprobe:f { strlen(); }", "strlen() requires one argument (0 provided)", "strlen()"),
        ("kprobe:f { str(1, 2, 3); }", "str() takes up to 2 arguments (3 provided)", "str(1, 2, 3)"),
        ("kprobe:f { str(arg0, -3); }", "str() cannot use negative length (-3)", "str(arg0, -3)"),
        ('kprobe:f { exit("1"); }', "exit() only supports int arguments (string provided)", 'exit("1")'),
        ("kprobe:f { printf(1234); }", "printf() expects a string literal (int provided)", "printf(1234)"),
        (
            'kprobe:f { printf("%d"); }',
            "printf(): not enough arguments for format string (0 supplied, 1 expected)",
            'printf("%d")',
        ),
        ('kprobe:f { printf("%d", 1, 2); }', "printf(): too many arguments for format string", 'printf("%d", 1, 2)'),
        ('kprobe:f { printf("%d", comm); }', "printf(): unsupported format specifier for type 'string[16]': d", "comm"),
        ('kprobe:f { printf("%r", 5); }', "printf(): unsupported format specifier for type 'int8': r", "5"),
        ('kprobe:f { printf("%A", 5); }', "printf(): unknown conversion", '"%A"'),
        ("kprobe:f { kstack(bob); }", "Invalid stack mode: bob", "bob"),
        ("kprobe:f { kstack(3, perf); }", "Expected stack mode as first argument", "kstack(3, perf)"),
        ("kprobe:f { kstack(5000); }", "kstack([int limit]): limit shouldn't exceed 1024", "kstack(5000)"),
        ("kprobe:f { nsecs(xxx); }", "Invalid timestamp mode: xxx", "xxx"),
        ("kprobe:f { pid(xxx); }", "Invalid PID namespace mode: xxx", "xxx"),
        ('kprobe:f { pton("127.0.1"); }', "pton() expects a valid IPv4/IPv6 address", 'pton("127.0.1")'),
        (
            'kprobe:f { strftime("%M", nsecs(monotonic)); }',
            "strftime() can not take a monotonic timestamp",
            'strftime("%M", nsecs(monotonic))',
        ),
        ('kprobe:f { kaddr("nonsense"); }', "Failed to resolve kernel symbol: nonsense", 'kaddr("nonsense")'),
        (
            'kprobe:f { reg("potato"); }',
            "'potato' is not a valid register on this architecture (x86_64)",
            'reg("potato")',
        ),
        ("kprobe:f { buf(arg0); }", "buf() expects a length argument for non-array type int", "buf(arg0)"),
        ('kprobe:f { static_assert(1 == 2, "no"); }', "no", 'static_assert(1 == 2, "no")'),
        ('kprobe:f { fail("bad %d %s", 1, "x"); }', "bad 1 x", 'fail("bad %d %s", 1, "x")'),
        ("kprobe:f { print(1, 2); }", "Non-map print() only takes 1 argument, 2 found", "print(1, 2)"),
        ("profile:hz:1 { @x[1] = 1; clear(@x[1]); }", "clear() expects a map argument", "@x[1]"),
        (
            "fentry:tcp_shutdown { socket_cookie(args.how); }",
            "socket_cookie() only supports pointer arguments",
            "socket_cookie(args.how)",
        ),
        ("fn f($a: int64): int64 { return $a; } kprobe:f { f(); }", "Function `f` requires 1 arguments, got 0", "f()"),
        (
            "fn f(): int64 { $x = 0; } kprobe:f { f(); }",
            "Function f is of type int64, cannot return void",
            "fn f(): int64",
        ),
        ("fn f(): void { return 1; } kprobe:f { f(); }", "Function f is of type void, cannot return int8", "return 1"),
        ("fn f(): int64 { return f(); } kprobe:f { f(); }", "Function `f` calls itself", "f()"),
        (
            'fn f(): uint8 { return "bob"; } kprobe:f { }',
            "Function f is of type uint8, cannot return string[4]",
            'return "bob"',
        ),
    ],
    "probes": [
        ("begin { print(arg0); }", 'The arg0 builtin can not be used with "begin" probes', "arg0"),
        ("kprobe:f { print(retval); }", 'The retval builtin can not be used with "kprobe" probes', "retval"),
        ("kretprobe:f { print(args.x); }", 'The args builtin can not be used with "kretprobe" probes', "args"),
        (
            "tracepoint:sched:sched_switch { print(args.nope); }",
            "Can't find field nope of tracepoint:sched:sched_switch",
            "args.nope",
        ),
        ("fentry:vfs_read { print(args.nope); }", "Can't find function parameter nope of fentry:vfs_read", "args.nope"),
        ("fexit:tcp_shutdown { print(retval); }", "fexit:tcp_shutdown returns nothing", "retval"),
        ("usdt:/bin/x:p { print(arg7); }", "usdt:/bin/x:p has 2 arguments: there is no arg7", "arg7"),
        ("kprobe:f { path(arg0); }", 'path can not be used with "kprobe" probes', "path(arg0)"),
        ("kprobe:absent { print(1); }", "there is no kprobe absent", "kprobe:absent"),
        ("kprobe:f { signal(9); }", "signal() is unsafe. To use you need the --unsafe flag", "signal(9)"),
    ],
    "control flow": [
        ("kprobe:f { break; }", "'break' outside of a loop", "break"),
        ("kprobe:f { continue; }", "'continue' outside of a loop", "continue"),
        ("kprobe:f { unroll(101) { } }", "unroll maximum value is 100", "101"),
        ("kprobe:f { unroll(0) { } }", "unroll minimum value is 1", "0"),
        ("kprobe:f { $n = 3; unroll($n) { } }", "invalid unroll value", "$n"),
        ('kprobe:f { for ($i : "a"..5) { } }', "Loop range requires an integer for the start value", '"a"..5'),
        ("kprobe:f { @x = 1; if comptime @x { } }", "Unable to resolve comptime expression", "comptime @x"),
        ('begin { return "x"; }', "Probe return values can only be integers. Found string[2]", 'return "x"'),
    ],
}


def pairs(table):
    return [
        pytest.param(*(c if isinstance(c, tuple) else (c,)), id=f"{k}-{i}")
        for k, cases in table.items()
        for i, c in enumerate(cases)
    ]


@pytest.mark.parametrize("text", pairs(ALLOWED))
def test_the_language_allows(text):
    """Protects scripts that people have: none of these may ever be refused."""
    assert [d.message for d in findings(text, unsafe=True)] == []


@pytest.mark.parametrize(("text", "message", "pointed_at"), pairs(REFUSED))
def test_the_language_refuses_and_says_where(text, message, pointed_at):
    """Protects the message, and that it points at the offending expression and nothing else."""
    found = findings(text)
    assert found, "it was accepted"
    if not message:  # refused by the parser, whose words are tested elsewhere
        return
    first = found[0]
    assert first.message.startswith(message)
    line = Source("", text).line(first.span.line)
    assert line[first.span.column - 1 : first.span.end_column - 1] == pointed_at
