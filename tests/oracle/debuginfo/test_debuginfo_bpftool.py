"""This kernel's BTF as bpftool dumps it, against ours: every struct, function, enum and typedef."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from probescope.debuginfo import btf_cache
from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_funcs import BtfFunctions
from probescope.debuginfo.btf_types import BtfTypes

VMLINUX = "/sys/kernel/btf/vmlinux"
BPFTOOL = shutil.which("bpftool", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")

pytestmark = pytest.mark.skipif(
    BPFTOOL is None or not os.path.exists(VMLINUX), reason="needs bpftool and the kernel's BTF"
)

HEAD = re.compile(r"\[(\d+)\] (\w+) '(.*)'(.*)")
KINDS = {
    "INT": 1, "PTR": 2, "ARRAY": 3, "STRUCT": 4, "UNION": 5, "ENUM": 6, "FWD": 7, "TYPEDEF": 8, "VOLATILE": 9,
    "CONST": 10, "RESTRICT": 11, "FUNC": 12, "FUNC_PROTO": 13, "VAR": 14, "DATASEC": 15, "FLOAT": 16, "DECL_TAG": 17,
    "TYPE_TAG": 18, "ENUM64": 19,
}  # fmt: skip


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of ``bpftool btf dump``; an old bpftool stops at kinds that it does not know."""
    out = tmp_path_factory.mktemp("btf") / "dump"
    with out.open("wb") as f:
        subprocess.run([str(BPFTOOL), "btf", "dump", "file", VMLINUX], stdout=f, stderr=subprocess.DEVNULL, check=False)
    lines = out.read_text().splitlines()
    if len(lines) < 10_000:
        pytest.skip("bpftool cannot read this kernel's BTF")
    return lines


@pytest.fixture(scope="module")
def types() -> BtfTypes:
    return BtfTypes(btf_cache.load(VMLINUX, cache=False))


def records(lines: list[str]) -> Iterator[tuple[int, str, str, str, list[str]]]:
    """(id, kind, name, rest of the line, lines of the elements)."""
    current: tuple[int, str, str, str, list[str]] | None = None
    for line in lines:
        m = HEAD.fullmatch(line)
        if m:
            if current:
                yield current
            name = "" if m[3] == "(anon)" else m[3]
            current = (int(m[1]), m[2], name, m[4], [])
        elif current:
            current[4].append(line.strip())
    if current:
        yield current


def test_every_type_has_the_id_kind_and_name_that_bpftool_shows(dump: list[str], types: BtfTypes) -> None:
    """Ids go to the kernel when attaching: one that is off by one attaches elsewhere."""
    count = 0
    for type_id, kind, name, _, _ in records(dump):
        raw = types.btf.raw(type_id)
        assert (raw.kind, types.btf.string(raw.name_off)) == (KINDS[kind], name), type_id
        count += 1
    assert count > 50_000


def test_every_member_has_the_offset_that_bpftool_shows(dump: list[str], types: BtfTypes) -> None:
    """Names, types, offsets and widths of all members of all structs and unions, and the sizes."""
    member = re.compile(r"'(.*)' type_id=(\d+) bits_offset=(\d+)(?: bitfield_size=(\d+))?")
    count = 0
    for type_id, kind, _, rest, rows in records(dump):
        if kind not in ("STRUCT", "UNION"):
            continue
        size = int(re.search(r"size=(\d+)", rest)[1])  # type: ignore[index]
        assert types.btf.raw(type_id).third == size
        expected = []
        for row in rows:
            m = member.fullmatch(row)
            assert m, row
            expected.append(("" if m[1] == "(anon)" else m[1], int(m[2]), int(m[3]), int(m[4] or 0)))
        assert [tuple(r) for r in types.btf.members(type_id)] == expected, type_id
        count += len(rows)
    assert count > 50_000


def test_enumerators_are_those_of_bpftool(dump: list[str], types: BtfTypes) -> None:
    """Values, signed and unsigned, of 32 and 64 bits."""
    value = re.compile(r"'(.*)' val=(-?\d+)(?:ULL|LL)?")
    count = 0
    for type_id, kind, _, _, rows in records(dump):
        if kind in ("ENUM", "ENUM64"):
            width = 1 << (32 if kind == "ENUM" else 64)
            expected = [(m[1], int(m[2]) % width) for r in rows if (m := value.fullmatch(r))]
            assert [(n, v % width) for n, v in types.btf.enumerators(type_id)] == expected, type_id
            count += len(rows)
    assert count > 5_000


def test_functions_are_those_of_bpftool(dump: list[str], types: BtfTypes) -> None:
    """Every function's parameter names, and that each tracepoint has arguments."""
    protos = {i: rows for i, kind, _, _, rows in records(dump) if kind == "FUNC_PROTO"}
    functions = BtfFunctions(types)
    seen: set[str] = set()
    for type_id, kind, name, rest, _ in records(dump):
        if kind != "FUNC" or name in seen:
            continue
        seen.add(name)
        found = functions.find(name)
        assert found is not None
        assert found.btf_id == type_id
        rows = [
            m[1]
            for r in protos[int(re.search(r"type_id=(\d+)", rest)[1])]
            if (m := re.match(r"'(.*)' type_id=[1-9]", r))
        ]  # type: ignore[index]
        assert [p.name for p in found.params] == [n if n != "(anon)" else f"arg{i}" for i, n in enumerate(rows)], name
        if len(seen) > 5000:
            break


def test_layouts_have_every_named_member_of_nested_ones(types: BtfTypes) -> None:
    """Lifting keeps all members, and none lies outside of its struct."""
    for name in ("struct task_struct", "struct sock", "struct file", "struct inode", "struct sk_buff", "struct page"):
        layout = types.layout(name)
        assert layout is not None
        assert all(0 <= m.offset <= layout.size for m in layout.members)
        assert len({m.name for m in layout.members}) == len(layout.members)


STRUCTS = (
    "task_struct", "sock", "file", "inode", "sk_buff", "page", "dentry", "super_block", "mm_struct", "vm_area_struct",
    "net_device", "request", "bio", "cred", "signal_struct", "tcp_sock", "pid", "cgroup", "rq", "cfs_rq", "module",
)  # fmt: skip


def test_the_compiler_lays_out_the_same(types: BtfTypes, tmp_path: Path) -> None:
    """GCC's offsetof over bpftool's vmlinux.h, members of nameless members included, equals our lifted offsets."""
    expected: list[str] = []
    lines = ['#include "vmlinux.h"', "int printf(const char *, ...);", "int main(void) {"]
    for name in STRUCTS:
        layout = types.layout(f"struct {name}")
        if layout is None:
            continue
        expected.append(f"{name} {layout.size}")
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        for m in layout.members:
            if not m.bit_size:
                expected.append(f"{name}.{m.name} {m.offset}")
                place = f"__builtin_offsetof(struct {name}, {m.name})"
                lines.append(f'printf("{name}.{m.name} %zu\\n", {place});')
    lines.append("return 0; }")
    (tmp_path / "t.c").write_text("\n".join(lines))
    with (tmp_path / "vmlinux.h").open("wb") as f:
        command = [str(BPFTOOL), "btf", "dump", "file", VMLINUX, "format", "c"]
        subprocess.run(command, stdout=f, stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["gcc", "-w", "-o", tmp_path / "t", tmp_path / "t.c"], check=True)
    output = subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=True).stdout.splitlines()
    ours, theirs = dict(e.split(" ") for e in expected), dict(o.split(" ") for o in output)
    sound = {name for name in STRUCTS if name in ours and ours[name] == theirs[name]}
    assert len(sound) > len(STRUCTS) // 2  # bpftool 7.1 writes some structs with a wrong size: those prove nothing
    compared = [m for m in ours if m.split(".")[0] in sound]
    assert {m: theirs[m] for m in compared} == {m: ours[m] for m in compared}
    assert len(compared) > 500


def test_a_blob_reads_the_same_from_memory_and_from_sysfs(types: BtfTypes) -> None:
    """Mapped and read bytes give the same types."""
    with open(VMLINUX, "rb") as f:
        data = f.read()
    assert list(Btf.parse(data).index.starts) == list(types.btf.index.starts)
