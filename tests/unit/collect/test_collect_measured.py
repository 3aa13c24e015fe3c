"""Measured costs are remembered until the next boot, and a file that is not what it should be is no file."""

from __future__ import annotations

import json
import os

import pytest

from probescope.collect import measured
from probescope.collect.measure import Measured
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.plan.costs import Cost

BOOT = "/proc/sys/kernel/random/boot_id"
FOUND = Measured({"tp_btf": Cost(19, 18, 21), "uprobe_multi": Cost(450, 440, 460)}, {"fentry": "refused: EPERM"})


def machine(boot="b1", release="6.1", **more):
    return FakeHost(files={BOOT: f"{boot}\n"}, release=release, **more)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "probescope" / "costs.json"


def test_what_is_saved_is_loaded(cache):
    with use_host(machine()):
        assert measured.save(FOUND)
        assert measured.load() == FOUND
    assert os.listdir(cache.parent) == ["costs.json"]


@pytest.mark.parametrize(
    "other",
    [{"boot": "b2"}, {"release": "6.2"}, {"machine": "aarch64"}],
    ids=["another boot", "another kernel", "another machine"],
)
def test_another_kernels_costs_are_not_ours(other):
    """A home directory may be shared by many hosts."""
    with use_host(machine()):
        measured.save(FOUND)
    with use_host(machine(**other)):
        assert measured.load() == Measured({})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "1" * 100_000,
        "[" * 100_000,
        "\0\xff",
        '{"boot_id": "b1"}',
    ],
)
def test_a_damaged_file_is_no_file(cache, text):
    cache.parent.mkdir()
    cache.write_text(text)
    with use_host(machine()):
        assert measured.load().costs == {}


@pytest.mark.parametrize("ns", [-1, 1.5, "19", None, True, 10**30, {}, []])
def test_a_strange_number_is_left_out(cache, ns):
    with use_host(machine()):
        measured.save(FOUND)
        text = json.loads(cache.read_text())
        text["costs"]["tp_btf"]["ns"] = ns
        cache.write_text(json.dumps(text))
        assert list(measured.load().costs) == ["uprobe_multi"]


def test_a_place_that_cannot_be_written_is_no_error(monkeypatch):
    """Costs are shown all the same, only not remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with use_host(machine()):
        assert not measured.save(FOUND)
        assert measured.load() == Measured({})


def test_a_relative_cache_is_ignored(monkeypatch):
    """XDG base directory specification: all paths must be absolute, others are to be ignored."""
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/someone")
    assert measured.path() == "/home/someone/.cache/probescope/costs.json"
