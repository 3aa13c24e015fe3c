"""explain, doctor and list on kernels that have kprobes and trampolines, against what was found there by hand."""

from __future__ import annotations

import pytest

from probescope import inquiry
from probescope.collect.checkup import checkup
from probescope.collect.measure import measure
from probescope.collect.measure_ways import MULTI, SINGLE_UPROBES, UPROBES, WAYS
from probescope.kernel.fds import forget_fds, open_fds


@pytest.mark.parametrize(
    ("probe", "feature"),
    [
        ("kprobe:vfs_read", "attach:kprobe"),
        ("kprobe:vfs_*", "attach:kprobe"),
        ("kretprobe:vfs_read", "attach:kprobe"),
        ("fentry:vfs_read", "attach:fentry"),
        ("fexit:vfs_read", "attach:fentry"),
        ("iter:task", "attach:iter"),
        ("hardware:cycles", "perf:hardware"),
    ],
)
def test_what_is_explained_is_what_the_kernel_has(matrix, probe, feature):
    (e,) = inquiry.explain(probe)
    assert e.parts[0].usable == (matrix[feature] == "yes")
    assert e.elsewhere == (matrix[feature] == "no")


def test_a_kernel_function_is_found_by_its_name():
    found = inquiry.candidates("vfs_read")
    assert "kprobe:vfs_read" in found
    assert any(f.startswith("fentry:") for f in found)


def test_every_way_that_the_kernel_has_can_be_measured(matrix):
    """Under emulation the numbers say nothing; that there are some says that attaching and detaching works."""
    forget_fds()
    found = measure()
    assert open_fds() == []
    single = matrix[MULTI] == "no"
    for way in (*WAYS, *(SINGLE_UPROBES if single else UPROBES)):
        expected = matrix.get(way.feature, "yes") == "yes"
        assert (way.name in found.costs) == expected, f"{way.name}: {found.missing.get(way.name)}"


def test_doctor_agrees_with_what_was_found_by_hand(matrix):
    report = checkup()
    wrong = {f["name"]: f["answer"] for f in report["features"] if matrix.get(f["name"], f["answer"]) != f["answer"]}
    assert wrong == {}
