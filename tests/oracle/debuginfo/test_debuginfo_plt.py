"""Jumps to other libraries as binutils names them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_names import FunctionNames

pytestmark = pytest.mark.skipif(shutil.which("objdump") is None, reason="needs binutils")
FILES = [
    f
    for f in ("/usr/bin/dash", "/bin/bash", "/usr/bin/python3.11", "/lib/x86_64-linux-gnu/libstdc++.so.6")
    if os.path.exists(f)
]


@pytest.mark.parametrize("path", FILES)
def test_every_stub(path: str) -> None:
    """The address and name of each stub that objdump labels; what it calls ``*ABS*`` chooses a function when it is
    first called, and has that one's name here."""
    sections = [a for s in (".plt", ".plt.sec", ".plt.got") for a in ("-j", s)]
    text = subprocess.run(["objdump", "-d", *sections, path], capture_output=True, text=True, check=False).stdout
    theirs = {int(m[1], 16): m[2] for m in re.finditer(r"^([0-9a-f]+) <(.*)@plt>:$", text, re.MULTILINE)}
    theirs = {a: n.split("@")[0] for a, n in theirs.items() if not n.startswith("*ABS*")}
    with ElfFile.open(path) as elf:
        names = FunctionNames(elf, [t for t in (elf.symtab(), elf.dynsym()) if t is not None])
        ours = {s.address: s.name for s in names.plt.stubs}
        for address, name in theirs.items():
            assert ours[address].removesuffix("@plt").split("@")[0] == name, hex(address)
            assert names.at(address + 5) == (ours[address], address)
    assert len(theirs) > 20
