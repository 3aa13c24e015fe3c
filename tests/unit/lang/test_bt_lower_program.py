"""From a script to its program, as a whole: what is asked of the host, which sites share a clause, what is said."""

from __future__ import annotations

import pytest
from bt_host import FakeTypes, body, compiled, findings, lower, resolve, warnings
from work import instructions

from probescope.errors import KernelError, NoSuchProbe, NothingToAttach, ProbeError, ScriptError, UsageError
from probescope.frozen import replace
from probescope.ir.text import value_to_text
from probescope.model.probe import ProbeSpec
from probescope.model.site import KprobeAttach, Site, UserAttach


def sites(text: str, **how: object) -> list[list[str]]:
    """The names of the sites of every clause."""
    return [[s.name for s in c.sites] for c in lower(text, **how).clauses]


# --- what is asked of the host ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'begin { printf("hi %d\\n", pid); exit(); }',
        "kprobe:f { @[comm, pid] = count(); @h = hist(arg1); }",
        "profile:hz:99 { @[kstack, ustack(3)] = count(); }",
        'kprobe:f { $s = str(arg0); if ($s == "x" && strncmp($s, "ab", 2) == 0) { print(nsecs); } }',
        "kprobe:f { let $x: uint8 = 1; $y = (int32)$x; print(sizeof(uint64)); for ($i : 0..3) { @[$i]++; } }",
        "tracepoint:sched:sched_switch { @[args.prev_comm] = sum(args.next_pid); }",
        "struct A { int x; } kprobe:f { print(((struct A *)arg0).x); }",
        "interval:s:1 { print(@); clear(@); @ = count(); }",
    ],
)
def test_kernel_types_stay_unread(text):
    """Protects the start-up time: reading the kernel's types costs tens of milliseconds, and most scripts need none."""
    types = FakeTypes()
    lower(text, types=types)
    assert types.asked == 0


def test_kernel_types_are_read_when_named():
    """The counter of the test above counts."""
    types = FakeTypes()
    lower("kprobe:f { print(curtask.pid); }", types=types)
    assert types.asked > 0


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("{ @ = count(); }", False),
        ("{ print(probe); print(comm); }", False),
        ("{ print(args.next_pid); }", True),
        ("/ args.next_pid == 1 / { print(1); }", True),
        ("{ $x = { let $y = args.next_pid; $y }; }", True),
    ],
)
def test_fields_are_looked_up_only_if_used(script, asked):
    """Protects thousands of probes by wildcard from a thousand format files that nobody reads."""
    seen = []

    def spying(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        seen.append(need_fields)
        return list(resolve(spec, need_fields))

    lower(f"tracepoint:sched:sched_switch {script}", resolve=spying)
    assert seen == [asked]


# --- sites and clauses ------------------------------------------------------------------------------------------------


def test_a_body_that_asks_nothing_keeps_its_sites_together():
    """Protects compile time and program size: one program serves all sites of equal shape."""
    assert sites("kprobe:f*, uprobe:/x:g, tracepoint:sched:sched_switch { @[probe] = count(); }") == [
        ["kprobe:fa", "kprobe:fb", "uprobe:/x:g", "tracepoint:sched:sched_switch"]
    ]


def test_fields_of_different_types_split_a_clause():
    """``next_pid`` has 4 bytes in one tracepoint and 8 in the other: one load cannot serve both."""
    program = lower(
        "tracepoint:sched:sched_switch, tracepoint:sched:sched_wide { print(probe); print(args.next_pid); }"
    )
    assert [[s.name for s in c.sites] for c in program.clauses] == [
        ["tracepoint:sched:sched_switch"],
        ["tracepoint:sched:sched_wide"],
    ]
    assert [value_to_text(c.body[-1]) for c in program.clauses] == [
        "(Emit 1 [(Field i32 next_pid)])",
        "(Emit 2 [(Field i64 next_pid)])",
    ]


def test_fields_of_equal_types_do_not_split():
    text = "tracepoint:syscalls:sys_enter_open, tracepoint:syscalls:sys_enter_openat { print(str(args.filename)); }"
    assert sites(text) == [["tracepoint:syscalls:sys_enter_open", "tracepoint:syscalls:sys_enter_openat"]]


def test_the_space_of_arguments_splits():
    """A pointer argument of a user probe leads to user memory: reading it as kernel memory yields nothing."""
    program = lower("kprobe:f, uprobe:/x:g { print(str(arg0)); }")
    assert [value_to_text(c.body[0]) for c in program.clauses] == [
        "(Emit 0 [(ReadStr str1024 kernel (Arg u64 0))])",
        "(Emit 0 [(ReadStr str1024 user (Arg u64 0))])",
    ]


def test_a_probe_named_twice_fires_once():
    assert sites("kprobe:f, kprobe:f, kprobe:f { @ = count(); }") == [["kprobe:f"]]


def test_comparing_the_probe_is_decided_while_compiling():
    """``if (probe == ...)`` leaves only the branch that can run, and no comparison of texts."""
    program = lower('kprobe:f* { if (probe == "kprobe:fa") { print(1); } else { print(2); } }')
    assert [(c.sites[0].name, [value_to_text(s) for s in c.body]) for c in program.clauses] == [
        ("kprobe:fa", ["(Emit 0 [(Const i8 1)])"]),
        ("kprobe:fb", ["(Emit 0 [(Const i8 2)])"]),
    ]


def test_the_types_of_all_clauses_agree():
    """A map written late with a wide type was already read before; both see the wide type."""
    program = lower("kprobe:f { print(@x); } kprobe:g { @x = (int8)1; } kprobe:h { @x = (int64)1; }")
    assert value_to_text(program.map("x")) == "(MapDecl x _ i64)"
    assert value_to_text(program.clauses[1].body[0]) == "(MapSet x _ (Const i64 1))"


# --- probes that are not there ----------------------------------------------------------------------------------------

MISSING = "kprobe:absent, kprobe:b { print(1); }"


def test_missing_probes_are_an_error_by_default():
    (found,) = findings(MISSING)
    assert found.message == "there is no kprobe absent"
    assert found.hints == ("did you mean another?", "config = { missing_probes = warn } goes on without it")
    assert (found.span.column, found.span.end_column) == (1, 14)


@pytest.mark.parametrize(("policy", "said"), [("warn", ["there is no kprobe absent"]), ("ignore", [])])
def test_missing_probes_may_be_left_out(policy, said):
    done = compiled(f"config = {{ missing_probes = {policy} }} {MISSING}")
    assert [s.name for s in done.program.sites] == ["kprobe:b"]
    assert [w.message for w in done.warnings] == said


@pytest.mark.parametrize("policy", ["warn", "ignore"])
def test_nothing_left_is_an_error(policy):
    text = f"config = {{ missing_probes = {policy} }} kprobe:absent {{ print(1); }}"
    found = findings(text)
    assert [d.message for d in found if d.severity == "error"] == ["No probes to attach"]
    with pytest.raises(NothingToAttach, match="No probes to attach"):
        compiled(text)


NO_POINTS = "Probe has no valid attach points."


def test_a_clause_that_goes_is_told():
    """What a script waits for may never come when the clause that prints it is gone."""
    done = compiled("config = { missing_probes = warn } kprobe:absent { print(1); } kprobe:b { }")
    removed = f"{NO_POINTS} It is being removed which may cause issues with program behavior."
    assert [w.message for w in done.warnings] == ["there is no kprobe absent", removed]
    assert compiled("config = { missing_probes = ignore } kprobe:absent { } kprobe:b { }").warnings == ()


def test_a_pattern_that_matches_nothing():
    def nothing(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        raise ProbeError("no kernel function matches 'x*'", hints=["list shows what there is"])

    (found,) = findings("kprobe:x* { }", resolve=nothing)
    assert found.message == NO_POINTS
    assert found.hints[:2] == ("no kernel function matches 'x*'", "list shows what there is")


def test_what_may_not_be_there_is_doubted():
    """One warning of a function that is missing, with the error; of one that is tried all the same, alone."""
    doubt = "x is not traceable"

    def absent(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        raise NoSuchProbe("there is no kernel function x", doubt=doubt)

    with pytest.raises(ScriptError) as e:
        compiled("kprobe:x { }", resolve=absent)
    said = [(d.severity, d.message) for d in e.value.diagnostics]
    assert said == [("error", "No matches for kprobe x."), ("warning", doubt)]
    with pytest.raises(NothingToAttach) as e:
        compiled("config = { missing_probes = ignore } kprobe:x { }", resolve=absent)
    assert [d.message for d in e.value.diagnostics] == ["No probes to attach"]

    def tried(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        return [replace(s, doubt=doubt) for s in resolve(spec, need_fields)]

    assert [w.message for w in compiled("kprobe:b { }", resolve=tried).warnings] == [doubt]


def test_sites_known_to_be_of_no_use_follow_the_policy():
    """A function that the kernel forbids to probe counts as missing, and its reason is said."""

    def refusing(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        good = list(resolve(spec, need_fields))
        return [
            *good,
            Site("kprobe:bad", "kprobe", KprobeAttach("bad"), func="bad", reason="it is on the kernel's blacklist"),
        ]

    done = compiled("config = { missing_probes = warn } kprobe:f { }", resolve=refusing)
    assert [s.name for s in done.program.sites] == ["kprobe:f"]
    assert [w.message for w in done.warnings] == ["kprobe:bad cannot be used here: it is on the kernel's blacklist"]


def test_a_host_that_cannot_be_looked_at_is_no_missing_probe():
    def broken(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        raise KernelError("open(kallsyms)", 13, hints=["run as root"])

    (found,) = findings("config = { missing_probes = ignore } kprobe:f { }", resolve=broken)
    assert (found.message, found.hints) == ("open(kallsyms) failed: EACCES", ("run as root",))


def test_a_map_of_a_clause_that_is_missing_is_no_finding_of_its_own():
    """One mistake, one finding: the map would be there if the probe were. What is wrong anyway is told as well."""

    def broken(spec: ProbeSpec, need_fields: bool) -> list[Site]:
        if spec.source == "kprobe":
            raise KernelError("open tracefs", 13)
        return [Site("end", "end", UserAttach("end"))]

    (found,) = findings("kprobe:f { @a = count(); } end { print(@a); }", resolve=broken)
    assert found.message == "open tracefs failed: EACCES"
    messages = [d.message for d in findings("kprobe:f { @a = 1; } end { print(@a); print(b); }", resolve=broken)]
    assert messages == ["open tracefs failed: EACCES", "Unknown identifier: 'b'"]


def test_too_many_probes():
    (found,) = findings("config = { max_probes = 1 } kprobe:f* { } kprobe:g* { }")
    assert found.message == "Can't attach to 2 probes because it exceeds the current limit of 1 probes."


def test_test_probes_need_their_mode():
    text = "test:a { print(1); } kprobe:f { print(2); }"
    assert sites(text) == [["kprobe:f"]]
    assert sites(text, mode="test") == [["test:a"], ["kprobe:f"]]
    assert [d.message for d in findings("test:a { }")] == [
        "no probe of this script runs here (test and bench probes need their mode)"
    ]


# --- what is said -----------------------------------------------------------------------------------------------------


def test_everything_wrong_is_said_at_once_and_in_order():
    """Protects from fixing one error at a time."""
    text = 'kprobe:f { $x = 1; print($y); @z = foo(1); }\nkprobe:absent { strlen(); }\nkprobe:g { $x = 1 + "a"; }'
    assert [(d.message.split(":")[0], d.span.line) for d in findings(text)] == [
        ("Undefined or undeclared variable", 1),
        ("Unknown function", 1),
        ("there is no kprobe absent", 2),
        ("Type mismatch for '+'", 3),
    ]


def test_an_error_in_a_clause_of_many_sites_is_said_once():
    assert len(findings("kprobe:f*, uprobe:/x:g { print(str(arg0)); $x = $y; }")) == 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kprobe:f { prnt(1); }", "did you mean 'print'?"),
        ("kprobe:f { print(kstak); }", "did you mean 'kstack'?"),
        ("kprobe:f { $count = 1; print($coutn); }", "did you mean '$count'?"),
        ("kprobe:f { @latency = 1; print(@latecny); }", "did you mean '@latency'?"),
        ("tracepoint:sched:sched_switch { print(args.prev_pdi); }", "did you mean 'prev_pid'?"),
        ("kprobe:f { print(curtask.pidd); }", "did you mean 'pid'?"),
        ("kprobe:f { $x = (struct task_strct *)arg0; }", "did you mean 'struct task_struct'?"),
        ("kprobe:f { $x = (task_struct *)arg0; }", "did you mean 'struct task_struct'?"),
        ("struct mine { int x; } kprobe:f { $x = (struct mien *)arg0; }", "did you mean 'struct mine'?"),
        ("kprobe:f { let $x: uin8; }", "did you mean 'uint8'?"),
        ('kprobe:f { system("ls"); }', "run with --unsafe"),
    ],
)
def test_hints(text, hint):
    """Protects the nearest name, and the way out."""
    assert hint in findings(text)[0].hints


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("kprobe:f { return; print(1); }", "Unreachable statement."),
        ("kprobe:f { print($1); }", "Positional parameter $1 is empty or not provided"),
        ("kprobe:f { $x = @x[1]; }", "@x is read, but nothing is ever put into it"),
    ],
)
def test_warnings(text, warned):
    """Said, and no hindrance."""
    assert warnings(text) == [warned]


@pytest.mark.parametrize(
    ("call", "named", "told"),
    [
        ('system("ls")', "system", "an unsafe function being used in safe mode"),
        ("signal(9)", "signal", "unsafe. To use you need the --unsafe flag"),
        ("override(1)", "override", "unsafe. To use you need the --unsafe flag"),
        ("signal_thread(9)", "signal_thread", "unsafe. To use you need the --unsafe flag"),
    ],
)
def test_unsafe_functions(call, named, told):
    """Refused unless asked for, and then the program says why it needs it."""
    assert findings(f"kprobe:f {{ {call}; }}")[0].message == f"{named}() is {told}"
    assert lower(f"kprobe:f {{ {call}; }}", unsafe=True).needs_unsafe == (named,)


# --- parameters and settings ------------------------------------------------------------------------------------------


def test_positional_parameters():
    """A number stands for itself where a number is wanted and for its text inside of str()."""
    assert body('kprobe:f { printf("%d", $1); print(str($1)); print(str($2)); print($#); }', params=["17", "abc"]) == [
        "(Emit 0 [(Const i8 17)])",
        '(Emit 1 [(Const str3 b"17")])',
        '(Emit 2 [(Const str4 b"abc")])',
        "(Emit 3 [(Const i8 2)])",
    ]


def test_a_text_is_no_number():
    """But a literal number after a literal text takes what is behind so many bytes."""
    assert findings("kprobe:f { print($1 * 2); }", params=["abc"])
    assert body("kprobe:f { print($1 + 1); }", params=["abc"]) == ['(Emit 0 [(Const str3 b"bc")])']


def test_named_parameters():
    text = 'kprobe:f { print(getopt("depth", 3)); print(getopt("loud")); print(getopt("name", "none")); }'
    assert body(text) == ["(Emit 0 [(Const i8 3)])", "(Emit 1 [(Const bool 0)])", '(Emit 2 [(Const str5 b"none")])']
    assert body(text, named={"depth": "7", "loud": "true", "name": "me"}) == [
        "(Emit 0 [(Const i8 7)])",
        "(Emit 1 [(Const bool 1)])",
        '(Emit 2 [(Const str3 b"me")])',
    ]


def test_unknown_named_parameters_are_refused():
    with pytest.raises((UsageError, ScriptError)):
        lower('kprobe:f { print(getopt("depth", 3)); }', named={"dpeth": "7"})


def test_settings_come_from_the_script_and_the_environment():
    """The environment wins, as people expect of ``BPFTRACE_MAX_STRLEN=200 probescope run ...``."""
    config = "max_strlen = 100; stack_mode = perf; print_maps_on_exit = 0; max_map_keys = 9"
    text = f"config = {{ {config} }} kprobe:f {{ @[kstack] = str(arg0); }}"
    program = lower(text)
    s = program.settings
    assert (s.max_strlen, s.stack_mode, s.print_maps_at_exit, s.max_map_keys) == (100, "perf", False, 9)
    assert program.maps[0].max_entries == 9
    assert lower(text, variables={"BPFTRACE_MAX_STRLEN": "200"}).settings.max_strlen == 200


def test_the_child_and_the_pid_of_the_command_line():
    """``cpid`` without ``-c`` is an error in the language; so is a namespace where there is none."""
    assert body("kprobe:f { print(has_cpid); }", child="/bin/true") == ["(Emit 0 [(Const bool 1)])"]
    assert body("kprobe:f { print(has_cpid); }") == ["(Emit 0 [(Const bool 0)])"]


# --- functions of the script ------------------------------------------------------------------------------------------


def test_functions_return_from_the_middle():
    """What follows an early return does not run, and the caller goes on."""
    program = lower(
        "fn f($x: int64): int64 { if ($x > 5) { return 1; } print(2); return 3; } kprobe:f { @ = f(7); print(4); }"
    )
    text = "".join(value_to_text(s) for s in program.clauses[0].body)
    assert "(Return)" not in text
    assert text.index("(Const i8 4)") > text.index("(Const i8 2)")


def test_functions_that_call_each_other_in_a_circle_are_refused():
    text = "fn f($x: int64): int64 { return g($x); } fn g($x: int64): int64 { return f($x); } kprobe:f { print(f(1)); }"
    assert any("calls itself" in d.message for d in findings(text))


def test_functions_that_nobody_calls_are_checked():
    assert (
        findings("fn f(): int64 { return $nothing; } kprobe:f { }")[0].message
        == "Undefined or undeclared variable: $nothing"
    )


# --- speed ------------------------------------------------------------------------------------------------------------


def long_script(lines: int) -> str:
    """Maps used before they are assigned, variables, calls, conditions; a clause every 20 lines."""
    out = []
    for i in range(lines // 20):
        out.append(f"kprobe:f{i} {{")
        for j in range(9):
            to, by = (i * 7 + j) % 50, (i * 3 + j) % 50
            out.append(f"  $v{j} = arg0 + {i} * {j}; @m{to}[comm, {j}] = $v{j} + @m{by}[comm, {j}];")
            out.append(f'  if ($v{j} > 10 && pid != {j}) {{ printf("%d %s\\n", $v{j}, str(arg1)); }}')
        out.append("}")
    return "\n".join(out)


def test_long_scripts_compile_soon():
    """Protects from compile times that grow with the square of a script's length: 40,000 instructions of Python for a
    line, and no more for it in a script of twice the length."""

    def work(lines: int) -> int:
        source = long_script(lines)
        return instructions(lambda: lower(source))

    short, long = work(200), work(400)
    assert long < 2.5 * short
    assert long < 400 * 60_000
