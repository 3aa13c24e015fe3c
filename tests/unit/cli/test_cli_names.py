"""Options that say where something is looked for, or what is removed: an unset variable of a shell is no answer."""

from __future__ import annotations

import importlib

import pytest

from probescope.cli import probe_define
from probescope.cli.probe import parse
from probescope.errors import UsageError


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize(
    "words",
    [
        *("probe -F -x", "probe -F -m", "probe -V f -k", "probe -d", "probe f --keep"),
        *("args f -x", "peel f -x", "span f -x", "whois text -x", "whois text -m", "whois text --vmlinux"),
        "graph f -x",
    ],
)
def test_an_empty_name_is_told(words: str, empty: str) -> None:
    """``probe -x "" vfs_read`` probed the kernel, ``probe -d ""`` removed every event of the machine."""
    command, *rest = words.split()
    main = importlib.import_module(f"probescope.cli.{command}").main
    with pytest.raises(UsageError, match=f"{rest[-1]}.*: it is empty"):
        main([*rest, empty])


def test_defaults_are_not_asked() -> None:
    args = parse(["-F"])
    assert (args.binary, args.module, args.vmlinux) == (None, "", "")


@pytest.mark.parametrize("pattern", ["probe:", ":vfs_read", ":"])
def test_half_a_name_removes_nothing(pattern: str) -> None:
    """``-d "probe:$EVENT"`` without an EVENT removed the whole group."""
    with pytest.raises(UsageError, match="lacks a name"):
        probe_define.delete(parse(["-d", pattern]), pattern)


@pytest.mark.parametrize("name", ["a b", "a:b:c", ":a", "a:", "1a", "x.y", "a\np:b/c vfs_read"])
def test_names_that_tracefs_takes(name: str) -> None:
    """Anything else was the kernel's to refuse, in its words: "Invalid probed address"."""
    with pytest.raises(UsageError, match="is no name for an event"):
        probe_define.keep(parse(["vfs_read"]), ["vfs_read"], name)
