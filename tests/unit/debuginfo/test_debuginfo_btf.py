"""BTF written by hand: every kind, module BTF, byte orders, and malformed blobs; and the cache of where types start."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from debuginfo_btfmaker import BtfMaker

from probescope.debuginfo import btf_cache
from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_blob import FUNC, STRUCT
from probescope.debuginfo.btf_funcs import BtfFunctions, PrefixNames
from probescope.debuginfo.btf_types import BtfTypes
from probescope.errors import BtfError
from probescope.model.types import (
    BOOL,
    CHAR,
    I32,
    U8,
    U16,
    U32,
    U64,
    VOID,
    Array,
    Enum,
    Int,
    Member,
    Pointer,
    Struct,
)


def table(b: BtfMaker, base: Btf | None = None) -> BtfTypes:
    return BtfTypes(Btf.parse(b.build(), base))


# --- types ----------------------------------------------------------------


def test_integers_take_their_sign_and_size_from_btf() -> None:
    """char is text whatever its sign (unsigned in kernels from 6.2 on); bool is no integer; 128 bits are two halves."""
    b = BtfMaker()
    b.int("char", 1)
    b.int("unsigned char", 1)
    b.int("_Bool", 1, flags=4)
    b.int("long unsigned int", 8)
    b.int("my_odd_int", 2, signed=True)
    b.int("__int128", 16, signed=True)
    t = table(b)
    assert [t.type_of(i) for i in range(7)] == [VOID, CHAR, U8, BOOL, U64, Int(2, True), Array(U64, 2)]


def test_names_of_c() -> None:
    """Builtin names need no BTF; others come from it, with qualifiers and stars."""
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    s = b.struct("file", 4, [("x", i, 0)])
    b.typedef("pid_t", b.typedef("__kernel_pid_t", i))
    b.typedef("file_t", b.const(s))
    b.fwd("opaque")
    t = table(b)
    expected = {
        "int": I32,
        "unsigned long": U64,
        "long unsigned int": U64,
        "unsigned": U32,
        "u16": U16,
        "size_t": U64,
        "pid_t": I32,
        "struct file": Struct("struct file"),
        "file_t": Struct("struct file"),
        "const struct file *": Pointer(Struct("struct file"), "kernel"),
        "char **": Pointer(Pointer(CHAR, "kernel"), "kernel"),
        "struct opaque": Struct("struct opaque"),
        "void": VOID,
        "struct nope": None,
        "nope_t": None,
        "": None,
    }
    assert {name: t.named(name) for name in expected} == expected


def test_pointers_tell_user_memory_by_tag() -> None:
    """__user becomes a type tag; the tag may stand on either side of a qualifier."""
    b = BtfMaker()
    c = b.int("char", 1)
    ids = [b.ptr(c), b.ptr(b.tag("user", c)), b.ptr(b.const(b.tag("user", c))), b.ptr(b.tag("percpu", c)), b.ptr(0)]
    t = table(b)
    spaces = [t.type_of(i) for i in ids]
    assert spaces == [
        Pointer(CHAR, "kernel"),
        Pointer(CHAR, "user"),
        Pointer(CHAR, "user"),
        Pointer(CHAR, "kernel"),
        Pointer(VOID, "kernel"),
    ]


def test_layout_lifts_members_of_nameless_members() -> None:
    """args.a.b must find what C finds through anonymous structs and unions, at the right offset."""
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    n = b.int("long int", 8, signed=True)
    deep = b.struct("", 8, [("c", i, 0), ("d", n, 0)], union=True)
    inner = b.struct("", 16, [("b", i, 0), ("", deep, 64)])
    b.struct("outer", 24, [("a", i, 0), ("", b.const(inner), 64)])
    layout = table(b).layout("struct outer")
    assert layout is not None
    assert layout.size == 24
    assert [(m.name, m.offset) for m in layout.members] == [("a", 0), ("b", 8), ("c", 16), ("d", 16)]


def test_named_member_of_nameless_type_has_a_layout() -> None:
    """struct { int x; } pair[2]: its type has no name, yet its members must be reachable."""
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    anonymous = b.struct("", 4, [("x", i, 0)])
    b.struct("outer", 8, [("pair", b.array(anonymous, 2), 0)])
    t = table(b)
    layout = t.layout("struct outer")
    assert layout is not None
    pair = layout.member("pair")
    assert pair is not None
    assert isinstance(pair.type, Array)
    assert isinstance(pair.type.element, Struct)
    inner = t.layout(pair.type.element.name)
    assert inner is not None
    assert [m.name for m in inner.members] == ["x"]


def test_typedef_names_a_nameless_struct() -> None:
    """atomic_t is a struct that only its typedef names."""
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    b.typedef("atomic_t", b.struct("", 4, [("counter", i, 0)]))
    b.enum("", [("A", 0)])
    b.typedef("mode_e", 3)
    t = table(b)
    assert t.named("atomic_t") == Struct("atomic_t")
    layout = t.layout("atomic_t")
    assert layout is not None
    assert layout.members == (Member("counter", I32, 0),)


def test_bit_fields_with_kflag() -> None:
    """Offset and width in the member: width << 24 | bit offset."""
    b = BtfMaker()
    i = b.int("unsigned int", 4)
    words = [("x", i, 3 << 24), ("y", i, 5 << 24 | 3), ("z", i, 1 << 24 | 31), ("whole", i, 32), ("w", i, 7 << 24 | 64)]
    b.struct("bits", 12, words, kflag=1)
    layout = table(b).layout("struct bits")
    assert layout is not None
    assert layout.members == (
        Member("x", U32, 0, 0, 3),
        Member("y", U32, 0, 3, 5),
        Member("z", U32, 0, 31, 1),
        Member("whole", U32, 4),
        Member("w", U32, 8, 0, 7),
    )


def test_bit_fields_without_kflag() -> None:
    """Old encoding: a narrow integer type."""
    b = BtfMaker()
    narrow = b.int("unsigned int", 4, bits=5)
    shifted = b.int("unsigned int", 4, bits=2, offset=3)
    b.struct("old", 4, [("a", narrow, 0), ("b", narrow, 5), ("c", shifted, 8)])
    layout = table(b).layout("struct old")
    assert layout is not None
    assert [(m.offset, m.bit_offset, m.bit_size) for m in layout.members] == [(0, 0, 5), (0, 5, 5), (0, 11, 2)]


def test_packed_bit_field_never_reads_beyond_the_struct() -> None:
    """An int bit field in a struct of two bytes: a unit of four would read foreign memory."""
    b = BtfMaker()
    i = b.int("unsigned int", 4)
    b.struct("tiny", 2, [("x", i, 3 << 24), ("y", i, 9 << 24 | 3)], kflag=1)
    layout = table(b).layout("struct tiny")
    assert layout is not None
    assert layout.members == (Member("x", U8, 0, 0, 3), Member("y", U16, 0, 3, 9))


def test_flexible_array_and_tags() -> None:
    """A last member without a size; annotations by member."""
    b = BtfMaker()
    c = b.int("char", 1)
    b.struct(
        "buf",
        16,
        [("p", b.ptr(b.tag("rcu", c)), 0), ("q", b.ptr(b.tag("percpu", c)), 64), ("data", b.array(c, 0), 128)],
    )
    layout = table(b).layout("struct buf")
    assert layout is not None
    assert layout.members[2] == Member("data", Array(CHAR, 0), 16)
    assert layout.tags == (("p", "rcu"), ("q", "percpu"))


def test_enums() -> None:
    """Constants by name, of 32 and 64 bits, signed and not, in named and nameless enumerations."""
    b = BtfMaker()
    b.enum("color", [("RED", 0), ("BLUE", 0xFFFFFFFF)])
    b.enum("sign", [("MINUS", -1)], signed=True)
    b.enum64("big", [("HUGE", 1 << 63)])
    b.enum64("neg", [("DEEP", -(1 << 40))], signed=True)
    b.enum("", [("LONE", 7)])
    t = table(b)
    assert t.enumerator("BLUE") == (Enum("color", 4, False), 0xFFFFFFFF)
    assert t.enumerator("MINUS") == (Enum("sign", 4, True), -1)
    assert t.enumerator("HUGE") == (Enum("big", 8, False), 1 << 63)
    assert t.enumerator("DEEP") == (Enum("neg", 8, True), -(1 << 40))
    lone = t.enumerator("LONE")
    assert lone is not None
    assert lone[1] == 7
    assert t.enum_values(lone[0].name) == (("LONE", 7),)
    assert t.enumerator("color") is None
    assert t.enumerator("nothing") is None
    assert t.enum_values("color") == (("RED", 0), ("BLUE", 0xFFFFFFFF))
    assert t.enum_values("nothing") == ()


def test_all_names() -> None:
    """For messages about misspelt names."""
    b = BtfMaker()
    i = b.int("int", 4)
    b.struct("s", 4, [("x", i, 0)])
    b.struct("u", 4, [("x", i, 0)], union=True)
    b.enum("e", [("A", 0)])
    b.typedef("t", i)
    assert sorted(table(b).names()) == ["enum e", "struct s", "t", "union u"]


# --- functions ----------------------------------------------------------------


def kernel() -> BtfMaker:
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    task = b.ptr(b.struct("task_struct", 4, [("pid", i, 0)]))
    b.func("vfs_read", b.proto(i, [("file", task), ("count", i)]))
    b.decl_tag("bpf_kfunc", b.func("printk", b.proto(i, [("fmt", task), ("", 0)])))
    b.typedef("btf_trace_sched_switch", b.ptr(b.proto(0, [("", task), ("", i), ("", task)])))
    b.typedef("btf_trace_bare", b.ptr(b.proto(0, [("", task), ("", i)])))
    b.func("__traceiter_sched_switch", b.proto(i, [("__data", task), ("preempt", i), ("prev", task)]))
    b.func("bpf_iter_task", b.proto(i, []))
    b.func("bpf_iter_run_prog", b.proto(i, []))
    b.struct("bpf_iter__task", 4, [("task", task, 0)])
    return b


def test_functions() -> None:
    """Parameters with names and types; dots; results."""
    f = BtfFunctions(table(kernel()))
    read = f.find("vfs_read")
    assert read is not None
    assert [(p.name, str(p.type)) for p in read.params] == [("file", "struct task_struct *"), ("count", "int32")]
    assert (read.result, read.variadic) == (I32, False)
    printk = f.find("printk")
    assert printk is not None
    assert (len(printk.params), printk.variadic) == (1, True)
    assert f.find("task_struct") is None
    assert f.find("nope") is None
    assert f.kfuncs() == ["printk"]
    assert "vfs_read" in f.names()


def test_tracepoints_get_names_from_their_stubs() -> None:
    """The typedef btf_trace_X has the types; the names are those of __traceiter_X, or argN."""
    f = BtfFunctions(table(kernel()))
    switch = f.tracepoint("sched_switch")
    assert switch is not None
    assert [p.name for p in switch.params] == ["preempt", "prev"]
    assert switch.btf_id == f.btf.find("btf_trace_sched_switch", 8)
    bare = f.tracepoint("bare")
    assert bare is not None
    assert [p.name for p in bare.params] == ["arg0"]
    assert f.tracepoint("nope") is None
    assert sorted(f.tracepoint_names()) == ["bare", "sched_switch"]


def test_iterators() -> None:
    """An iterator has a function and a context; bpf_iter_run_prog has only the function."""
    f = BtfFunctions(table(kernel()))
    assert f.iterators() == ["task"]
    assert f.iterator("task") == (f.btf.find("bpf_iter_task", FUNC), "struct bpf_iter__task")
    assert f.iterator("run_prog") is None


def test_prefix_names_match_globs() -> None:
    """fentry:vfs_* over 56,000 functions looks only at those that start so."""
    names = PrefixNames(["vfs_read", "vfs_write", "sys_read", "vfs_read", "vf"])
    assert names.match("vfs_*") == ["vfs_read", "vfs_write"]
    assert names.match("*read") == ["sys_read", "vfs_read"]
    assert names.match("vf?_[rw]*") == ["vfs_read", "vfs_write"]
    assert names.match("vf") == ["vf"]
    assert names.match("zzz*") == []


# --- split BTF and byte order ----------------------------------------------------------------


def test_module_btf_goes_on_after_its_base() -> None:
    """Ids and strings of a module count on from vmlinux; types of both refer to each other."""
    base = Btf.parse(kernel().build())
    m = BtfMaker(first_id=base.end_id, first_string=base.string_end)
    own = m.struct("ext4_inode", 16, [("task", base.find("task_struct", STRUCT), 0)])
    m.func("ext4_read", m.proto(1, [("inode", m.ptr(own))]))
    m.enum("", [("EXT4_FLAG", 4)])
    t = table(m, base)
    f = BtfFunctions(t)
    layout = t.layout("struct ext4_inode")
    assert layout is not None
    assert layout.members == (Member("task", Struct("struct task_struct"), 0),)
    assert t.layout("struct task_struct") is not None
    read = f.find("ext4_read")
    assert read is not None
    assert read.btf_id >= base.end_id
    assert read.result == I32
    assert f.find("vfs_read") is not None  # through the base
    assert f.names() == ["ext4_read"]
    assert t.enumerator("EXT4_FLAG") is not None


def test_big_endian() -> None:
    """A recording from s390x."""
    b = BtfMaker(little=False)
    i = b.int("int", 4, signed=True)
    b.struct("s", 8, [("a", i, 0), ("b", i, 32)])
    layout = table(b).layout("struct s")
    assert layout is not None
    assert [(m.name, m.offset) for m in layout.members] == [("a", 0), ("b", 4)]


# --- malformed ----------------------------------------------------------------


def test_circles() -> None:
    """Typedefs, pointers, arrays and nameless structs that contain themselves end in a typed error."""
    b = BtfMaker()
    b.typedef("a", 2)
    b.typedef("b", 1)
    b.ptr(3)
    b.array(4, 2)
    b.struct("s", 8, [("", 5, 0)])
    b.struct("fine", 8, [("p", 3, 0)])
    t = table(b)
    for call in (
        lambda: t.named("a"),
        lambda: t.type_of(3),
        lambda: t.type_of(4),
        lambda: t.layout("struct s"),
        lambda: t.layout("struct fine"),
    ):
        with pytest.raises(BtfError):
            call()


def test_nameless_structs_that_multiply() -> None:
    """Thirty levels of two nameless members each would be a billion members."""
    b = BtfMaker()
    i = b.int("int", 4)
    inner = b.struct("", 4, [("x", i, 0)])
    for _ in range(30):
        inner = b.struct("", 4, [("", inner, 0), ("", inner, 0)])
    b.struct("bomb", 4, [("", inner, 0)])
    with pytest.raises(BtfError, match="too many members"):
        table(b).layout("struct bomb")


def test_blobs_cut_anywhere() -> None:
    """Each prefix of a blob is refused."""
    data = kernel().build()
    for n in range(len(data)):
        with pytest.raises(BtfError):
            Btf.parse(data[:n])


def test_chains_that_do_not_end() -> None:
    """An unknown kind, a member count beyond the section, types outside, strings outside."""
    b = BtfMaker()
    b.raw(31, "x", 0)
    with pytest.raises(BtfError, match="unknown kind 31"):
        Btf.parse(b.build())
    b = BtfMaker()
    b.raw(4, "x", 0, vlen=500)
    with pytest.raises(BtfError, match="cut"):
        Btf.parse(b.build())
    b = BtfMaker()
    b.ptr(99)
    with pytest.raises(BtfError, match="not there"):
        table(b).type_of(1)
    b = BtfMaker()
    b.typedef("t", 0)
    data = bytearray(b.build())
    struct.pack_into("<I", data, 24, 1 << 30)
    with pytest.raises(BtfError, match="string offset"):
        Btf.parse(bytes(data)).name_of(1)


# --- the cache ----------------------------------------------------------------


@pytest.fixture
def big_blob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Large enough to be cached, in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    b = BtfMaker()
    i = b.int("int", 4, signed=True)
    for n in range(4000):
        b.struct(f"s{n}", 8, [("a", i, 0), ("b", i, 32)])
    path = tmp_path / "blob"
    path.write_bytes(b.build())
    return path


def cache_file(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "cache" / "probescope").iterdir()
    return found


def check(path: Path) -> Btf:
    btf = btf_cache.load(str(path))
    layout = BtfTypes(btf).layout("struct s3999")
    assert layout is not None
    assert [(m.name, m.offset) for m in layout.members] == [("a", 0), ("b", 4)]
    return btf


def test_cache_is_written_and_used(big_blob: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second start must not walk the types again."""
    first = check(big_blob)
    file = cache_file(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("probescope.debuginfo.btf.build_index", lambda *_: pytest.fail("walked again"))
    second = check(big_blob)
    assert list(second.index.starts) == list(first.index.starts)


def test_damaged_cache_is_not_believed(big_blob: Path, tmp_path: Path) -> None:
    """Cut anywhere or with any byte changed, the answers stay right and the file is made anew."""
    check(big_blob)
    file = cache_file(tmp_path)
    good = file.read_bytes()
    for broken in (b"", good[:20], good[:-4], good + bytes(4), good[:100] + b"\xff" + good[101:], b"X" + good[1:]):
        file.write_bytes(broken)
        check(big_blob)
        assert file.read_bytes() == good


def test_cache_of_other_types_is_not_believed(big_blob: Path, tmp_path: Path) -> None:
    """A file with a sound checksum that says where the types of another blob start."""
    check(big_blob)
    file = cache_file(tmp_path)
    data = file.read_bytes()
    body = bytearray(data[24:])
    for at in range(4 * 1000, 4 * 4001, 4):
        struct.pack_into("=I", body, at, struct.unpack_from("=I", body, at)[0] + 3)
    magic, _, *rest = struct.unpack("=8sIIII", data[:24])
    file.write_bytes(struct.pack("=8sIIII", magic, zlib.crc32(body), *rest) + body)
    check(big_blob)
    assert file.read_bytes() == data


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_cache_of_another_user_is_not_believed(big_blob: Path, tmp_path: Path) -> None:
    """Neither one that others may write to, nor a link."""
    check(big_blob)
    file = cache_file(tmp_path)
    good = file.read_bytes()
    os.chmod(file, 0o666)
    assert btf_cache._load_index(str(file), btf_cache._read(str(big_blob))[0]) is None
    os.chmod(file, 0o600)
    os.chown(file, 65534, 65534)
    assert btf_cache._load_index(str(file), btf_cache._read(str(big_blob))[0]) is None
    os.unlink(file)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(good)
    os.chmod(elsewhere, 0o600)
    file.symlink_to(elsewhere)
    assert btf_cache._load_index(str(file), btf_cache._read(str(big_blob))[0]) is None


def test_no_home_no_cache(big_blob: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by a service manager without HOME, or with a relative one: no file is written anywhere."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    for home in ("", "relative"):
        monkeypatch.setenv("HOME", home)
        assert btf_cache.cache_dir() == ""
        check(big_blob)


def test_unwritable_cache_is_no_error(big_blob: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be."""
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    check(big_blob)


def test_files_that_are_no_btf(tmp_path: Path) -> None:
    """Missing, empty, a FIFO."""
    with pytest.raises(BtfError, match="No such file"):
        btf_cache.load(str(tmp_path / "gone"))
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(BtfError):
        btf_cache.load(str(tmp_path / "empty"))
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(BtfError):
        btf_cache.load(str(tmp_path / "fifo"))
