"""CAP_BPF and CAP_PERFMON are enough, and without them a person is told what to grant."""

from __future__ import annotations

import re
import subprocess

import pytest

ENOUGH = "-all,+bpf,+perfmon"


def run(command: list[str], capabilities: str, *program: str) -> subprocess.CompletedProcess[str]:
    """With these capabilities and no others, still as user 0, to whom the checkout and tracefs belong."""
    sets = [f"--{kind}={capabilities}" for kind in ("bounding-set", "inh-caps", "ambient-caps")]
    return subprocess.run(
        ["setpriv", *sets, "--", *command, "run", *program], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    "probe",
    [
        "rawtracepoint:sys_enter { @[comm] = count(); }",
        "tracepoint:syscalls:sys_enter_* { @[probe] = count(); }",
        "tracepoint:sched:sched_switch { @[kstack(2)] = count(); }",
        "profile:hz:199 { @[ustack(2)] = count(); }",
        "software:cpu-clock:1000000 { @ = count(); }",
        "iter:task { @ = count(); }",
    ],
)
def test_two_capabilities_are_enough(probescope_command: list[str], probe: str) -> None:
    script = probe if probe.startswith("iter") else probe + " interval:ms:300 { exit(); }"
    done = run(probescope_command, ENOUGH, "-e", script)
    assert done.returncode == 0, done.stderr
    assert "@" in done.stdout


def test_uprobes_need_no_more_where_links_take_many(probescope_command: list[str]) -> None:
    """Through perf they need CAP_SYS_ADMIN since 6.16; links do not."""
    from probescope.kernel.features import have

    if not have("attach:uprobe_multi"):
        pytest.skip("this kernel has no uprobe_multi")
    done = run(probescope_command, ENOUGH, "-e", "uprobe:/bin/bash:main { @ = count(); } interval:ms:100 { exit(); }")
    assert done.returncode == 0, done.stderr


def test_without_them_the_message_says_what_to_grant(probescope_command: list[str]) -> None:
    done = run(probescope_command, "-all", "-e", "rawtracepoint:sys_enter { @ = count(); }")
    assert done.returncode == 1
    assert "CAP_BPF, CAP_PERFMON missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_kernel_is_not_asked_for_needs_none(probescope_command: list[str]) -> None:
    done = run(probescope_command, "-all", "-e", 'BEGIN { @ = 1; printf("%d\\n", 2); exit(); }')
    assert (done.returncode, done.stdout) == (0, "2\n\n@: 1\n")


def test_numbers_instead_of_names_are_explained(probescope_command: list[str]) -> None:
    """/proc/kallsyms is zeros for whoever has no CAP_SYSLOG: stacks are shown as numbers, and a word says why."""
    program = "tracepoint:sched:sched_switch { @[kstack(2)] = count(); } interval:ms:200 { exit(); }"
    done = run(probescope_command, ENOUGH, "-e", program)
    assert re.search(r"^ +0xffff[0-9a-f]{12}$", done.stdout, re.MULTILINE)
    assert re.search(r"WARNING: \d+ addresses of the kernel have no names: /proc/kallsyms hides them", done.stderr)
    assert "+syslog" in done.stderr
    told = run(probescope_command, f"{ENOUGH},+syslog", "-e", program)
    assert "have no names" not in told.stderr


def test_an_address_that_is_hidden_is_missed_at_its_place(probescope_command: list[str]) -> None:
    done = run(probescope_command, ENOUGH, "-e", 'begin { print(kaddr("vfs_read")); exit(); }')
    assert done.returncode == 1
    assert done.stderr.startswith("stdin:1:15-32: ERROR: ")
    assert "CAP_SYSLOG" in done.stderr
