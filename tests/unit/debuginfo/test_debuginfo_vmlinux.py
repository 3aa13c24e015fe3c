"""The kernel's own file: a small program stands for it, whose addresses another loader has moved."""

from __future__ import annotations

from pathlib import Path

import dwarf_programs as programs

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.vmlinux import KernelLines, places

SOURCE = """
asm(".globl _stext; _stext = main");
static inline __attribute__((always_inline)) int inner(int n) { return n * 3 + (n >> 4); }
int main(int argc, char **argv) {
    return inner(argc);
}
"""
MOVED = 0x1200000


def build(folder: Path) -> tuple[str, str, int]:
    path = programs.build(folder, SOURCE, "-O2", "-Wl,--build-id=sha1")
    with ElfFile.open(path) as elf:
        found = elf.symbols().find("main")
        assert found is not None
        return path, elf.build_id(), found.address


def test_lines_of_a_kernel_that_was_moved(tmp_path: Path) -> None:
    """KASLR: what the running kernel says of one symbol tells how far all of them are moved."""
    path, build_id, main = build(tmp_path)
    lines = KernelLines(iter([str(tmp_path / "none"), path]), build_id, {"_stext": main + MOVED}.get)
    frames = lines.frames(main + MOVED)
    assert [(f.function, f.inlined) for f in frames][-1] == ("main", False)
    assert frames[-1].file == str(tmp_path / "prog.c")
    assert frames[-1].line in (4, 5)


def test_file_of_another_kernel_is_not_taken(tmp_path: Path) -> None:
    """Its lines would be wrong ones; so would those of a kernel that hides its addresses."""
    path, build_id, main = build(tmp_path)
    assert not KernelLines(iter([path]), "00" * 20, {"_stext": main}.get).frames(main)
    assert not KernelLines(iter([path]), build_id, lambda _: None).frames(main)


def test_places() -> None:
    """The build-id comes first; what the user names is the only one; a release is no path."""
    found = list(places("6.1.0-1-amd64", "abcdef"))
    assert found[0] == "/usr/lib/debug/.build-id/ab/cdef.debug"
    assert "/usr/lib/debug/boot/vmlinux-6.1.0-1-amd64" in found
    assert list(places("6.1", "abcdef", "/x")) == ["/x"]
    assert not list(places("../../etc", ""))
