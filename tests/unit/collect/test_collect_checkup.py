"""Why something is missing, and what helps: by the kernel's answer, its build options and the user's privileges."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from probescope.collect.checkup import HEADLINES, checkup
from probescope.collect.remedies import PACKAGED, Circumstances, reason, remedies
from probescope.kernel.fake import FakeHost
from probescope.kernel.features import describe, every
from probescope.kernel.features.answer import Answer
from probescope.kernel.host import use_host
from probescope.kernel.privileges import Privileges

ROOT = Privileges(0, frozenset({"sys_admin"}), "", 2, 2, 0)
NOBODY = Privileges(65534, frozenset(), "", 2, 2, 0)
LOCKED = Privileges(0, frozenset({"sys_admin"}), "integrity", 2, 2, 0)
MATRIX = Path(__file__).resolve().parents[2] / "matrix" / "6.12.json"


def told(name, yes, number=0, text="", privileges=ROOT, **config):
    feature = describe(name)
    answer = Answer(name, yes, text, number)
    c = Circumstances(privileges, {f"CONFIG_{k}": v for k, v in config.items()})
    return reason(feature, answer, c), [(r.kind, r.text) for r in remedies(feature, answer, c)]


def test_a_yes_needs_nothing():
    assert told("attach:kprobe", True) == ("", [])


def test_build_options_are_named_when_they_are_known_to_be_missing():
    why, helps = told("attach:kprobe", False, errno.ENOENT, "no file", KPROBES="n", PERF_EVENTS="y")
    assert why == "the kernel was built without CONFIG_KPROBES, CONFIG_KPROBE_EVENTS"
    assert [kind for kind, _ in helps] == ["package", "config"]
    assert "linux-image-amd64" in helps[0][1]


def test_without_the_configuration_the_kernels_own_answer_is_told():
    why, helps = told("attach:kprobe", False, errno.ENOENT, "open /sys/.../kprobe/type: ENOENT")
    assert why == "open /sys/.../kprobe/type: ENOENT"
    assert "CONFIG_KPROBES" in helps[0][1]


def test_privileges_are_the_cure_only_where_they_are_missing():
    why, helps = told("attach:tp_btf", None, errno.EPERM, privileges=NOBODY, DEBUG_INFO_BTF="y")
    assert why == "not permitted to try (EPERM); the kernel is built for it"
    assert helps[0][0] == "privilege"
    why, helps = told("attach:fentry", False, errno.EPERM)
    assert "even to root" in why
    assert helps[0][0] == "boot"


def test_lockdown_is_named():
    _, helps = told("kernel:btf", False, errno.EPERM, privileges=LOCKED)
    assert "lockdown=none" in helps[0][1]


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("map:ringbuf_overwrite", "kernel", "Linux 6.19"),
        ("perf:hardware", "hardware", "PMU"),
        ("kernel:kallsyms", "sysctl", "kptr_restrict"),
        ("isa:v4", "kernel", "Linux 6.6"),
    ],
)
def test_each_kind_of_lack_has_its_own_cure(name, kind, word):
    _, helps = told(name, False, errno.EINVAL, "EINVAL")
    assert helps[0][0] == kind
    assert word in helps[0][1]


def test_what_is_said_to_be_in_standard_kernels_is_there():
    """The list is checked against what was found by hand on Debian's 6.12."""
    found = json.loads(MATRIX.read_text())["features"]
    assert {name for name in PACKAGED if found.get(name, "yes") != "yes"} == set()
    assert {f.name for f in every()} >= PACKAGED


def test_headlines_exist():
    known = {f.name for f in every()}
    assert [name for name, _ in HEADLINES if name not in known] == []


def test_a_machine_that_allows_nothing_still_gives_a_report():
    """No /proc, no /sys, every system call refused: a report of unknowns and noes, never an error."""
    host = FakeHost()
    for call in ("bpf", "perf_event_open"):
        host.on(call, _refused)
    with use_host(host):
        report = checkup(everything=True)
    assert json.loads(json.dumps(report)) == report
    assert {f["answer"] for f in report["features"]} <= {"yes", "no", "unknown"}
    assert report["tracefs"]["state"] == "absent"
    assert not report["kernel_config_known"]
    assert len(report["features"]) > 200


def test_progress_goes_to_the_end():
    steps = []
    host = FakeHost()
    with use_host(host):
        checkup(progress=lambda done, total, _name: steps.append((done, total)))
    assert [d for d, _ in steps] == list(range(len(HEADLINES)))
    assert {t for _, t in steps} == {len(HEADLINES)}


def _refused(call):
    raise OSError(errno.EPERM, "Operation not permitted")
