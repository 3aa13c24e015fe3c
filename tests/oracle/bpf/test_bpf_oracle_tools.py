"""bpftool and LLVM, who know the same formats from elsewhere."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess

import pytest
from bpf_random import Random

from probescope.bpf.assemble import assemble
from probescope.bpf.btf_writer import BtfWriter
from probescope.bpf.disasm import disassemble
from probescope.model.features import BASELINE_6_1


def tool(*names):
    found = next((path for n in names if (path := shutil.which(n) or shutil.which(n, path="/usr/sbin"))), None)
    if not found:
        pytest.skip(f"{names[0]} is not installed")
    return found


def test_bpftool_reads_our_btf(tmp_path):
    """Names, sizes, members, linkage and sections come back as they were meant."""
    w = BtfWriter()
    u64, u8 = w.integer("u64", 8), w.integer("u8", 1)
    comm = w.array(u8, 16)
    key = w.struct("key", 24, [("pid", u64, 0), ("comm", comm, 8)])
    function = w.function("turn", w.prototype(u64, [("index", u64), ("ctx", w.pointer(key))]))
    variable = w.variable("active", u64)
    w.section(".data", 8, [(variable, 0, 8)])
    path = tmp_path / "own.btf"
    path.write_bytes(w.data())
    out = subprocess.run([tool("bpftool"), "-j", "btf", "dump", "file", path], capture_output=True, check=True).stdout
    types = {t["id"]: t for t in json.loads(out)["types"]}
    assert (types[u64]["name"], types[u64]["size"], types[u64]["encoding"]) == ("u64", 8, "(none)")
    assert [(m["name"], m["bits_offset"]) for m in types[key]["members"]] == [("pid", 0), ("comm", 64)]
    assert types[comm]["nr_elems"] == 16
    assert (types[function]["name"], types[function]["linkage"]) == ("turn", "static")
    assert [p["name"] for p in types[types[function]["type_id"]]["params"]] == ["index", "ctx"]
    assert types[max(types)]["vars"] == [{"type_id": variable, "offset": 0, "size": 8}]


# Arithmetic, loads, stores of registers, branches, exit.
SHARED = re.compile(
    r"[rw]\d+ ([-+*/|&^]|<<|>>|s>>)?= ([rw]\d+|-?\d+)|[rw](\d+) = -[rw]\3|r(\d+) = be(16|32|64) r\4|"
    r"r\d+ = \*\(u\d+ \*\)\(r\d+ [-+]\d+\)|\*\(u\d+ \*\)\(r\d+ [-+]\d+\) = r\d+|"
    r"if [rw]\d+ (s?[<>]=?|[=!]=) [rw]\d+ goto pc[-+]\d+|goto pc[-+]\d+|exit"
)


def shared_texts():
    """{text: bytes} of random programs' instructions."""
    texts = {}
    for seed in range(6):
        code = assemble(Random(random.Random(seed), BASELINE_6_1, 40).program())
        for at, text in disassemble(code.insns):
            if SHARED.fullmatch(text):
                texts.setdefault(re.sub(r"pc([+-])", r"\1", text), code.insns[at * 8 : at * 8 + 8])
    return texts


def test_llvm_assembles_our_text_to_the_same_bytes():
    """The part of the notation that LLVM 14 shares (no stores of numbers, no ISA v4): from our text back to our
    bytes."""
    texts = shared_texts()
    command = [tool("llvm-mc"), "-triple=bpfel", "-mcpu=v3", "-show-encoding"]
    lines = "".join(f"{t}\n" for t in texts)
    out = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    encoded = re.findall(r"encoding: \[([0-9a-fx,]+)\]", out)
    assert len(encoded) == len(texts) > 150
    for (text, ours), theirs in zip(texts.items(), encoded, strict=True):
        assert bytes(int(b, 16) for b in theirs.split(",")) == ours, text
