"""``explain`` on this machine: probes of every source, programs, and costs that are really measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from cli_json import EXPLAIN, wrong
from nobody import as_nobody

from probescope.collect.measure import measure
from probescope.kernel import features
from probescope.kernel.fds import forget_fds, open_fds
from probescope.kernel.treadmill import Treadmill


def probescope(*argv, code=0, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "probescope", *argv],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done


def explained(*argv):
    document = json.loads(probescope("explain", "-f", "json", *argv).stdout)
    assert wrong(document, EXPLAIN) == []
    return document["explanations"]


@pytest.mark.parametrize(
    ("probe", "mechanism", "feature"),
    [
        ("tracepoint:syscalls:sys_enter_openat", "tp_btf", "attach:tp_btf"),
        ("tracepoint:sched:sched_switch", "tp_btf", "attach:tp_btf"),
        ("rawtracepoint:sched_switch", "tp_btf", "attach:tp_btf"),
        ("kprobe:vfs_read", "kprobe", "attach:kprobe"),
        ("kretprobe:vfs_read", "kprobe", "attach:kprobe"),
        ("fentry:vfs_read", "fentry", "attach:fentry"),
        ("fexit:vfs_read", "fexit", "attach:fentry"),
        ("uprobe:/bin/bash:readline", "uprobe_multi", "attach:uprobe_multi"),
        ("uretprobe:/bin/bash:readline", "uprobe_multi", "attach:uprobe_multi"),
        ("profile:hz:99", "perf_event", "attach:perf_event"),
        ("software:page-faults:100", "perf_event", "attach:perf_event"),
        ("hardware:cycles:1000000", "perf_event", "perf:hardware"),
        ("watchpoint:0x7fff0000:8:w", "perf_event", "perf:breakpoint"),
        ("iter:task", "iter", "attach:iter"),
        ("interval:s:1", "evaluate", ""),
        ("begin", "evaluate", ""),
        ("end", "evaluate", ""),
        ("self:signal:SIGUSR1", "evaluate", ""),
    ],
)
def test_probes_of_every_source(probe, mechanism, feature):
    """What explain says is what this kernel has: asked of the same feature probes that were checked by hand."""
    (e,) = explained(probe)
    (part,) = e["parts"]
    here = not feature or features.have(feature) is True
    assert part["usable"] == here
    if here:
        assert part["mechanism"].startswith(mechanism)
        assert e["steps"]
        assert not e["steps_hold_elsewhere"]
    else:
        assert part["reason"]
        assert part["mechanism"] == ""
        assert e["steps_hold_elsewhere"]
        assert probe.startswith("watchpoint") or part["instead"]


def test_what_is_suggested_instead_exists():
    """A suggestion that does not resolve would send people in circles."""
    for function in ("vfs_read", "tcp_sendmsg", "do_sys_openat2", "schedule"):
        for e in explained(f"kprobe:{function}"):
            for i in e["parts"][0]["instead"]:
                assert explained(i["probe"])[0]["parts"]


def test_a_bare_word_finds_system_calls_and_functions():
    found = [e["asked"] for e in explained("openat")]
    assert {"tracepoint:syscalls:sys_enter_openat", "tracepoint:syscalls:sys_exit_openat"} <= set(found)
    names = " ".join(e["asked"] for e in explained("vfs_read"))
    assert "kprobe:vfs_read" in names


def test_probes_of_one_clause_are_told_one_by_one():
    found = explained("tracepoint:syscalls:sys_enter_openat,tracepoint:sched:sched_switch", "profile:hz:99")
    assert [e["asked"] for e in found] == [
        "tracepoint:syscalls:sys_enter_openat",
        "tracepoint:sched:sched_switch",
        "profile:hz:99",
    ]


def test_globs_are_summed_up():
    (e,) = explained("tracepoint:syscalls:sys_enter_*")
    assert len(e["parts"][0]["sites"]) > 300
    assert len(e["steps"]) == 2
    text = probescope("explain", "tracepoint:*:*").stdout
    assert len(text.splitlines()) < 120


@pytest.mark.parametrize("how", ["-e", "bare", "file", "stdin"])
def test_programs(tmp_path, how):
    program = "tracepoint:syscalls:sys_enter_read { @[comm] = hist(args.count); } kprobe:vfs_read { @n = count(); }"
    path = tmp_path / "x.bt"
    path.write_text(program)
    argv = {"-e": ["-e", program], "bare": [program], "file": [str(path)], "stdin": ["-"]}[how]
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "explain", "-f", "json", *argv],
        input=program,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    document = json.loads(done.stdout)
    assert wrong(document, EXPLAIN) == []
    (e,) = document["explanations"]
    assert e["program"]
    assert [(p["line"], p["sites"][0]) for p in e["parts"]] == [
        (1, "tracepoint:syscalls:sys_enter_read"),
        (1, "kprobe:vfs_read"),
    ]
    assert "field:count" in e["parts"][0]["asks"]
    assert any("BPF_MAP_CREATE" in s and "hash" in s for s in e["setup"])
    (peer,) = e["equivalents"]
    assert (str(path) if how == "file" else "bpftrace -e") in peer["command"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["tracepoint:sched:sched_swich"], "did you mean tracepoint:sched:sched_switch?"),
        (["schedswitch"], "did you mean sched_switch?"),
        (["foo:bar"], "foo"),
        (["uprobe:/nonexistent:f"], "there is no file /nonexistent"),
        (["uprobe:/etc/passwd:f"], "not an ELF binary"),
        (["tracepoint:"], "tracepoint"),
        (["-e", "kprobe:vfs_read { @ = cuont(); }"], "cuont"),
        (["-e", "kprobe:vfs_read {"], "stdin:1"),
        (["/nonexistent.bt"], "nonexistent.bt"),
        (["-p", "4194304", "uprobe:f"], "there is no process 4194304"),
    ],
)
def test_mistakes_teach(argv, text):
    done = probescope("explain", *argv, code=1)
    assert done.stdout == ""
    assert text in done.stderr


def test_what_is_explained_is_what_is_done():
    """The plan behind the explanation is the plan of a run: the same mechanism, by the kernel's own book-keeping."""
    (e,) = explained("-e", "tracepoint:syscalls:sys_enter_read { @ = count(); }")
    done = probescope("run", "--emit", "plan", "-e", "tracepoint:syscalls:sys_enter_read { @ = count(); }")
    assert f"{e['parts'][0]['mechanism']} (bpf)" in done.stdout
    for step in e["steps"]:
        assert step["text"] in done.stdout


def test_without_privileges_it_still_explains():
    """65534 is nobody: no capabilities, no tracefs."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        [*as_nobody(), "explain", "-f", "json", "uprobe:/bin/bash:readline"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (e,) = json.loads(done.stdout)["explanations"]
    assert e["parts"][0]["mechanisms"][0]["here"] == "unknown"
    assert not e["parts"][0]["mechanisms"][0]["permitted"]


# --- costs
# --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured():
    forget_fds()
    found = measure()
    assert open_fds() == []
    return found


def test_every_mechanism_that_is_here_was_measured(measured):
    for name, feature in {
        "tp_btf": "attach:tp_btf",
        "raw_tracepoint": "attach:raw_tracepoint",
        "tracepoint": "attach:tracepoint",
        "kprobe": "attach:kprobe",
        "kprobe_multi": "attach:kprobe_multi",
        "fentry": "attach:fentry",
        "uprobe": "attach:uprobe",
        "uprobe_multi": "attach:uprobe_multi",
        "watchpoint": "perf:breakpoint",
        "ftrace event": "ftrace:instances",
    }.items():
        assert (name in measured.costs) == (features.have(feature) is True), (name, measured.missing.get(name))
        assert (name in measured.missing) != (name in measured.costs)


def test_costs_are_in_the_order_that_they_must_be(measured):
    """A single-stepped instruction is dearer than an emulated one, a record than an empty program, a return than an
    entry; each by far more than the noise."""
    ns = {name: c.ns for name, c in measured.costs.items()}
    assert ns["uprobe_multi/stepped"] > 3 * ns["uprobe_multi"]
    assert ns["uprobe_multi/return"] > ns["uprobe_multi"]
    assert ns["uprobe_multi"] > ns["tp_btf"]
    assert ns["perf record"] > ns["tp_btf"]
    for name, c in measured.costs.items():
        assert c.low <= c.ns <= c.high, name
        assert c.ns > 0, name


def test_the_treadmill_ends_when_it_is_let_go():
    t = Treadmill(max(os.sched_getaffinity(0)))
    assert t.run("syscall", 1000) > 0
    assert os.sched_getaffinity(t.pid) == {max(os.sched_getaffinity(0))}
    t.close()
    with pytest.raises(ProcessLookupError):
        os.kill(t.pid, 0)


def test_the_treadmill_ends_when_we_are_killed():
    """A process that nobody reads from any more leaves by itself: nothing keeps a CPU busy after a SIGKILL."""
    code = (
        "import sys; from probescope.kernel.treadmill import Treadmill; t = Treadmill(0); t.run('nop', 10);"
        "print(t.pid, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(process.stdout.readline())
    watch = os.pidfd_open(pid)
    process.kill()
    process.communicate(timeout=300)
    import select

    assert select.select([watch], [], [], 30)[0], "it is still running"
    os.close(watch)


def test_measured_costs_are_remembered(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    table = probescope("explain", "--measure", **cache).stdout
    assert "tracepoint" in table
    done = probescope("explain", "-f", "json", "tracepoint:sched:sched_switch", **cache)
    document = json.loads(done.stdout)
    assert document["costs_measured"]
    by_name = {r["mechanism"]: r for r in document["explanations"][0]["parts"][0]["mechanisms"]}
    assert by_name["tracepoint"]["measured"]
    told = json.loads(probescope("explain", "--measure", "-f", "json", **cache).stdout)
    assert set(told) == {"costs", "missing"}
    assert all(set(c) == {"ns", "low", "high"} for c in told["costs"].values())
