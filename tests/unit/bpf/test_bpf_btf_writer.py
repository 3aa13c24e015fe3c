"""BTF of our own, byte by byte where the kernel looks, and read back by our reader of anybody's BTF."""

from __future__ import annotations

import struct

from probescope.bpf.assemble import assemble
from probescope.bpf.btf_writer import BtfWriter, func_info, identifier, line_info, pack_func_info
from probescope.bpf.builder import Builder
from probescope.diagnostics import Source, Span


def test_the_smallest_blob():
    """Header, one int of four signed bytes, strings: written down from Documentation/bpf/btf.rst."""
    w = BtfWriter()
    assert w.integer("int", 4, signed=True) == 1
    types = struct.pack("<IIII", 1, 1 << 24, 4, 1 << 24 | 32)
    strings = b"\0int\0"
    assert w.data() == struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, 16, 16, 5) + types + strings


def test_equal_types_are_made_once():
    w = BtfWriter()
    a, b = w.integer("u64", 8), w.integer("u64", 8)
    assert a == b
    assert w.pointer(a) == w.pointer(b)
    assert w.integer("u64", 8, signed=True) != a


def test_names_are_made_acceptable():
    """The kernel refuses a blob whose names are no identifiers (btf_name_valid_identifier)."""
    assert identifier("kprobe:vfs_read") == "kprobe_vfs_read"
    assert identifier("1st") == "_1st"
    assert identifier("é") == "_"
    assert len(identifier("9" * 300)) == 127


def two_functions():
    b = Builder("clause 1")
    b.span = Span(3, 5, 3, 9)
    b.exit(b.local("helper", b.parameters[0]))
    h = Builder("helper", kind="local")
    h.span = Span(4, 1, 4, 3)
    h.exit(h.load(h.parameters[0], 0, 8))
    return assemble([b.finish(), h.finish()])


def test_every_function_gets_a_type_in_order():
    """check_btf_func: as many entries as functions, at their starts; callbacks and local functions static."""
    code, w = two_functions(), BtfWriter()
    info = func_info(w, code)
    assert [at for at, _ in info] == [at for at, _ in code.functions] == [0, 2]
    assert pack_func_info(info) == struct.pack("<IIII", 0, info[0][1], 2, info[1][1])
    blob = w.data()
    words = {}
    at, number = 24, 1
    sizes = {1: 4, 2: 0, 12: 0}
    while at < 24 + struct.unpack_from("<I", blob, 12)[0]:
        _, kind, _ = struct.unpack_from("<III", blob, at)
        words[number] = (kind >> 24 & 31, kind & 0xFFFF)
        at += 12 + (8 * (kind & 0xFFFF) if kind >> 24 & 31 == 13 else sizes[kind >> 24 & 31])
        number += 1
    assert [words[t] for _, t in info] == [(12, 1), (12, 0)]  # FUNC: global, static


def test_every_function_starts_with_a_line():
    """check_btf_line: "missing bpf_line_info for func" otherwise."""
    code, w = two_functions(), BtfWriter()
    records = list(struct.iter_unpack("<IIII", line_info(w, code, Source("a.bt", "1\n2\n  three\nfour"))))
    assert [r[0] for r in records] == [0, 2]
    strings = w.data()[24 + struct.unpack_from("<I", w.data(), 12)[0] :]
    assert [strings[r[2] :].split(b"\0")[0] for r in records] == [b"three", b"four"]
    assert [(r[3] >> 10, r[3] & 1023) for r in records] == [(3, 5), (4, 1)]
