"""What this kernel is found to be able to do, against what was found by other means, both ways."""

from __future__ import annotations

import gzip
import json
import os
import platform
import time
from pathlib import Path

import pytest

from probescope.kernel import bpf, features
from probescope.kernel.fds import forget_fds, open_fds
from probescope.kernel.host import Host, use_host

MATRIX = Path(__file__).resolve().parents[2] / "matrix"


def expectation() -> dict[str, str]:
    """tests/matrix/host-MAJOR.MINOR.json, if there is one for this kernel."""
    version = ".".join(platform.release().split(".")[:2])
    path = MATRIX / f"host-{version}.json"
    if not path.exists():
        pytest.skip(f"not on this architecture or kernel: no {path.name}")
    return json.loads(path.read_text())["features"]


def test_the_matrix_holds():
    """Each feature of the table is answered yes or no as written down; a lost one and a false one both fail."""
    wrong = {}
    for name, wanted in expectation().items():
        answer = features.probe(name)
        if answer.word != wanted:
            wrong[name] = f"{answer.word} ({answer.reason}), expected {wanted}"
    assert wrong == {}


def test_asking_for_everything_is_quick_and_leaves_nothing():
    """Fewer than ten system calls of ours for each of some 360 questions, no descriptor kept, no object left, no
    tracefs instance."""
    calls = 0

    class Counting(Host):
        def syscall(self, number: int, *args: int) -> int:
            nonlocal calls
            calls += 1
            return super().syscall(number, *args)

    forget_fds()
    with use_host(Counting()):
        before = {kind: set(bpf.object_ids(kind)) for kind in ("map", "link")}
        calls = 0
        answers = features.all_features()
        asked = calls
        deadline = time.monotonic() + 120  # objects are freed after a grace period
        while {k: set(bpf.object_ids(k)) - v for k, v in before.items()} != {"map": set(), "link": set()}:
            assert time.monotonic() < deadline
    assert len(answers) > 300
    assert asked < 10 * len(answers)
    assert open_fds() == []


def test_build_options_agree():
    """The kernel's own configuration is an independent witness for a few of them."""
    try:
        config = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    except OSError:
        pytest.skip("not on this architecture or kernel: no /proc/config.gz")
    for name, option in (
        ("attach:kprobe", "CONFIG_KPROBES"),
        ("ftrace:hist", "CONFIG_HIST_TRIGGERS"),
        ("ftrace:synthetic_events", "CONFIG_SYNTH_EVENTS"),
        ("ftrace:uprobe_events", "CONFIG_UPROBE_EVENTS"),
        ("kernel:btf", "CONFIG_DEBUG_INFO_BTF"),
        ("ftrace:user_events", "CONFIG_USER_EVENTS"),
        ("ftrace:snapshot", "CONFIG_TRACER_SNAPSHOT"),
    ):
        assert features.have(name) is (f"{option}=y" in config), name


def test_without_privileges_nothing_is_denied_for_good():
    """As nobody: unknown, not no; a later question as root is answered."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    from probescope.kernel import advice_rules, libc, privileges  # noqa: F401  (their files may be unreadable below)

    with use_host(Host()):
        features.probe("map:hash")
        names = ("map:ringbuf", "prog:kprobe", "attach:raw_tracepoint")
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresuid(65534, 65534, 65534)
            words = {features.state(name) for name in names}
            os._exit(0 if words == {"unknown"} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
