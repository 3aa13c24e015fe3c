"""Types of a file that the user names, raw or inside of a vmlinux; headers of a kernel's source."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from probescope.errors import BtfError
from probescope.front import kernel_headers
from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.model.types import I32, Member
from probescope.sources import kernel_btf


def blob() -> bytes:
    """One struct by hand, from include/uapi/linux/btf.h: `struct mine { int here; }`, at offset 4 of 8 bytes."""
    strings = b"\0int\0mine\0here\0"
    integer = struct.pack("=IIII", 1, 1 << 24, 4, 1 << 24 | 32)
    mine = struct.pack("=III", 5, 4 << 24 | 1, 8) + struct.pack("=III", 10, 1, 32)
    types = integer + mine
    head = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return head + types + strings


@pytest.mark.parametrize("form", ["raw", "elf"])
def test_types_of_a_named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """The script's structs are those of the file."""
    path = tmp_path / "types"
    path.write_bytes(blob())
    if form == "elf":
        if shutil.which("objcopy") is None or shutil.which("gcc") is None:
            pytest.skip("needs gcc and objcopy")
        (tmp_path / "x.c").write_text("int x;")
        made = tmp_path / "x.o"
        subprocess.run(["gcc", "-c", "-o", str(made), str(tmp_path / "x.c")], check=True)
        subprocess.run(["objcopy", "--add-section", f".BTF={path}", str(made), str(tmp_path / "elf")], check=True)
        path = tmp_path / "elf"
    monkeypatch.setenv(kernel_btf.VARIABLE, str(path))
    with use_host(FakeHost({})):
        types = kernel_btf.types()
        assert types is not None
        layout = types.layout("struct mine")
        assert layout is not None
        assert layout.members == (Member("here", I32, 4),)
        assert kernel_btf.functions() is None  # what is attached to is the kernel's own


def test_named_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel_btf.VARIABLE, str(tmp_path / "none"))
    with use_host(FakeHost({})), pytest.raises(BtfError, match="none"):
        kernel_btf.types()


def test_headers_of_a_kernel() -> None:
    """As the kernel's Makefile has them; generated ones where it was built."""
    assert kernel_headers("x86_64", {}) == []
    found = kernel_headers("x86_64", {"BPFTRACE_KERNEL_SOURCE": "/s", "BPFTRACE_KERNEL_BUILD": "/b"})
    assert found[:4] == ["/s/arch/x86/include", "/b/arch/x86/include/generated", "/s/include", "/b/include"]
    assert found[-1] == "/b/include/generated/uapi"
    assert kernel_headers("aarch64", {"BPFTRACE_KERNEL_SOURCE": "/s"})[1] == "/s/arch/arm64/include/generated"
