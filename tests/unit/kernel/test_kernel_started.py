"""Traces that were started on purpose: written down, found again, forgotten with their instance."""

from __future__ import annotations

import json

import pytest

from probescope.kernel import started
from probescope.kernel.host import Host, use_host
from probescope.kernel.started import Started, all_started, keep


class Machine(Host):
    """tracefs and /run below a folder."""

    def __init__(self, root):
        super().__init__()
        self.root = root
        self.cache["tracefs"] = "/sys/kernel/tracing"
        (root / "sys/kernel/tracing/instances").mkdir(parents=True)
        (root / "run").mkdir()

    def _here(self, path):
        return str(self.root) + path if path.startswith(("/run", "/sys")) else path

    def exists(self, path):
        return super().exists(self._here(path))

    def listdir(self, path):
        return super().listdir(self._here(path))

    def read_text(self, path, limit=1 << 20):
        return super().read_text(self._here(path), limit)

    def make_private_folder(self, path):
        super().make_private_folder(self._here(path))

    def write_whole(self, path, text):
        super().write_whole(self._here(path), text)

    def unlink(self, path):
        super().unlink(self._here(path))


@pytest.fixture
def machine(tmp_path):
    with use_host(Machine(tmp_path)) as found:
        yield found


def instance(machine, name):
    (machine.root / "sys/kernel/tracing/instances" / name).mkdir()


def test_what_is_kept_is_found(machine):
    """The one without a name first."""
    instance(machine, "probescope")
    instance(machine, "a b.c")
    whole = Started("probescope", undo=(("set_graph_function", "", True),), events={"sched": ["sched_switch"]})
    keep(Started("a b.c"))
    keep(whole)
    assert all_started() == [whole, Started("a b.c")]
    assert [one.label for one in all_started()] == ["", "a b.c"]
    assert whole.base == "/sys/kernel/tracing/instances/probescope"
    assert Started("probescope", top=True).base == "/sys/kernel/tracing"


def test_what_is_gone_is_forgotten(machine):
    """By a restart, or by whoever removed the instance."""
    keep(Started("probescope"))
    assert all_started() == []
    assert list((machine.root / "run/probescope").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", json.dumps({"undo": 3, "top": 0, "events": {}}), json.dumps({"undo": [["a"]], "top": 0})],
)
def test_a_note_that_is_damaged_loses_only_itself(machine, text):
    instance(machine, "probescope")
    keep(Started("probescope"))
    (machine.root / "run/probescope/started_probescope.json").write_text(text)
    assert all_started() == [Started("probescope")]


def test_only_files_of_tracefs_are_undone(machine):
    instance(machine, "probescope")
    keep(Started("probescope", undo=(("../../../etc/passwd", "x", True), ("trace_clock", "mono", False))))
    assert all_started()[0].undo == (("trace_clock", "mono", False),)


def test_others_files_are_not_taken_for_notes(machine):
    keep(Started("probescope", top=True))
    for name in ("borrowed_1_2.json", "started_.json", "started_x.json.new", "started_x"):
        (machine.root / "run/probescope" / name).write_text("{}")
    assert [one.instance for one in all_started()] == ["probescope"]
    assert started.OWN == "probescope"
