"""Binaries that are no binaries, places where no probe may be, names that mean nothing: each is told so in one
sentence."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probescope.errors import ElfError, ProbeError, ProbescopeError
from probescope.model.probe import ProbeSpec
from probescope.sources import boundaries, registry
from probescope.sources.context import ResolveContext

SELF = os.path.realpath(sys.executable)


def resolve(target: str, name: str = "f", source: str = "uprobe", **ctx: object) -> None:
    registry.resolve(ProbeSpec(source, target, name), ResolveContext(**ctx))  # type: ignore[arg-type]


def refused(target: str, message: str, hint: str = "", source: str = "uprobe", **ctx: object) -> None:
    with pytest.raises(ProbeError) as e:
        resolve(target, source=source, **ctx)
    assert message in str(e.value)
    assert hint in "\n".join(e.value.hints)


def test_targets_that_are_no_binaries(tmp_path: Path) -> None:
    """Protects the message for each kind of thing that people point at by mistake."""
    script, text, near = tmp_path / "script", tmp_path / "text", tmp_path / "program"
    script.write_text("#!/usr/bin/env python3\nprint()\n")
    text.write_text("hello\n")
    near.write_bytes(b"\x7fELF")
    refused("", "uprobe needs a binary", "-p PID")
    refused("", "usdt needs a binary", source="usdt")
    refused("*", "every program of this machine", "-p PID")
    refused(str(tmp_path), "is a directory")
    refused(str(script), "is a script", "/usr/bin/env")
    refused(str(text), "is not an ELF binary")
    refused(str(tmp_path / "progam"), "there is no file", f"did you mean {near}?")
    refused(str(tmp_path / "no" / "x"), "there is no file", "there is no directory")
    refused("libnosuch", "no library or program 'libnosuch'")
    refused("nosuch_program", "no library or program 'nosuch_program'")
    refused(f"{tmp_path}/z*", "no binary matches")
    refused("a\0b", "NUL")


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    """Protects against waiting for ever on what is no regular file."""
    os.mkfifo(tmp_path / "fifo")
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)
    with pytest.raises(ProbescopeError):
        resolve(str(tmp_path / "fifo"))


def test_a_relative_name_in_this_folder_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the hint for a program that lies in the current folder."""
    (tmp_path / "thing").write_bytes(b"\x7fELF")
    monkeypatch.chdir(tmp_path)
    refused("thing", "in the search path", "write ./thing")


def test_programs_of_other_machines(tmp_path: Path) -> None:
    """Protects against probing what can never run here."""
    header = bytearray(64)
    header[:16] = b"\x7fELF\x02\x01\x01" + bytes(9)
    struct.pack_into("<HHI", header, 16, 2, 22, 1)  # EM_S390
    struct.pack_into("<HHHHHH", header, 52, 64, 56, 0, 64, 0, 0)
    (tmp_path / "foreign").write_bytes(bytes(header))
    refused(str(tmp_path / "foreign"), "is for s390x, this machine runs x86_64")


def test_places_in_this_interpreter() -> None:
    """Protects the checks of addresses, offsets and kinds of probe."""
    for spec, message in (
        (ProbeSpec("uprobe", SELF, address=1), "Could not resolve address: .*:0x1$"),
        (ProbeSpec("uretprobe", SELF, "main", offset=4), "takes no offset"),
        (ProbeSpec("uprobe", "/bin/true", "main.c", line=7), "cannot be probed at source lines"),
    ):
        with pytest.raises(ProbeError, match=message) as e:
            registry.resolve(spec, ResolveContext())
        assert e.value.hints or "offset" in message


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_binaries(tmp_path: Path, data: st.DataObject) -> None:
    """Protects against hostile files as targets: a typed error or a site, never anything else."""
    good = Path("/bin/true").read_bytes()
    cut = data.draw(st.integers(0, len(good)))
    broken = bytearray(good[:cut])
    for _ in range(data.draw(st.integers(0, 8))):
        if broken:
            at = data.draw(st.integers(0, min(len(broken) - 1, 4096)))
            broken[at] = data.draw(st.integers(0, 255))
    path = tmp_path / "broken"
    path.write_bytes(bytes(broken))
    for spec in (
        ProbeSpec("uprobe", str(path), "*"),
        ProbeSpec("usdt", str(path), "*"),
        ProbeSpec("uprobe", str(path), address=4096),
    ):
        with contextlib.suppress(ProbeError, ElfError):
            registry.resolve(spec, ResolveContext(max_probes=1 << 20))


@pytest.mark.parametrize(
    ("code", "expected"),
    # hand-assembled from the Intel SDM: opcode, ModRM, SIB, displacement, immediate
    [
        ("90", 1),
        ("4889e5", 3),
        ("f30f1efa", 4),
        ("48b8" + "11" * 8, 10),  # mov rax, imm64
        ("66b81234", 4),  # mov ax, imm16
        ("c8000000", 4),  # enter
        ("e811223344", 5),
        ("0f8411223344", 6),
        ("488b0411", 4),  # SIB
        ("488b042511223344", 8),  # SIB without base: disp32
        ("488b0511223344", 7),  # RIP-relative
        ("f6042501020304aa", 8),  # test byte, imm8
        ("f7d8", 2),  # neg: the same opcode as test, without immediate
        ("c5f877", 3),  # vzeroupper
        ("c4e37d39c101", 6),  # vextracti128, imm8
        ("62f17c4828c1", 6),  # vmovaps zmm
        ("0f0b", 2),
        ("06", 0),  # push es: not in 64-bit mode
        ("48", 0),  # cut short
        ("488b05", 0),
    ],
)
def test_lengths(code: str, expected: int) -> None:
    """Protects the decoder that keeps probes out of the middle of instructions."""
    assert boundaries.length(bytes.fromhex(code), 0) == expected


def test_boundaries() -> None:
    """Protects the three answers: yes, no, and cannot tell."""
    code = bytes.fromhex("554889e506")  # push rbp; mov rbp, rsp; nothing
    assert [boundaries.is_boundary(code, n, "x86_64") for n in range(6)] == [True, True, False, False, True, None]
    assert boundaries.is_boundary(code, 4, "aarch64") is True
    assert boundaries.is_boundary(code, 2, "aarch64") is False
    assert boundaries.is_boundary(code, 1, "s390x") is None


@given(st.binary(max_size=64))
def test_any_bytes_have_a_length(code: bytes) -> None:
    """Protects against exceptions and endless loops on any bytes."""
    at = 0
    while (n := boundaries.length(code, at)) > 0:
        assert n <= 15
        at += n
    assert at <= len(code)
