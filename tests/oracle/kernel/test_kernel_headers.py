"""Our constants against the machine's own kernel headers, and helpers against its BTF."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probescope.kernel.uapi import bpf, helpers, perf

INCLUDE = Path("/usr/include/linux")


def header(name: str) -> str:
    path = INCLUDE / name
    if not path.exists():
        pytest.skip(f"needs linux-libc-dev: no {path}")
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def enum(text: str, name: str) -> dict[str, int]:
    """The names of a C enum with their values, counted as a compiler does."""
    body = re.search(rf"^enum {name} \{{(.*?)^\}};", text, re.DOTALL | re.MULTILINE)[1]
    out: dict[str, int] = {}
    value = 0
    for item in (i.strip() for i in body.split(",")):
        if not item:
            continue
        key, _, given = (part.strip() for part in item.partition("="))
        if given:
            given = re.sub(r"(\d)U(LL|L)?\b", r"\1", given)
            value = out[given] if given in out else int(eval(given, {}, out))
        out[key] = value
        value += 1
    return out


def test_bpf_enums():
    """Every name that the header has, in our tuples at the same number; ours may know newer ones."""
    text = header("bpf.h")
    for enum_name, prefix, ours in (
        ("bpf_cmd", "BPF_", bpf.COMMANDS),
        ("bpf_map_type", "BPF_MAP_TYPE_", bpf.MAP_TYPES),
        ("bpf_prog_type", "BPF_PROG_TYPE_", bpf.PROG_TYPES),
        ("bpf_link_type", "BPF_LINK_TYPE_", bpf.LINK_TYPES),
    ):
        found = enum(text, enum_name)
        assert len(found) > 5
        for name, number in found.items():
            if "MAX" in name or name.endswith("_DEPRECATED") or name == "BPF_PROG_RUN":
                continue
            assert ours[number].lower() == name.removeprefix(prefix).lower(), name


@pytest.mark.parametrize("module", [bpf, perf])
def test_constants_named_like_the_kernels(module):
    """Each of our BPF_*, PERF_* and HW_* that the headers define as a number has that number."""
    text = header("bpf.h") + header("perf_event.h") + header("hw_breakpoint.h")
    known: dict[str, int] = {}
    for name in re.findall(r"^enum (\w+) \{", text, re.MULTILINE):
        try:
            known |= enum(text, name)
        except (NameError, SyntaxError, TypeError):
            continue
    for name, value in re.findall(r"^#define (\w+)\s+\(?(\d+U?L*|\(?1U?L* << \d+\)?)\)?\s*$", text, re.MULTILINE):
        known[name] = int(eval(re.sub(r"(\d)U?L*\b", r"\1", value).strip("()")))
    checked = 0
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, int) and name in known:
            assert value == known[name] & (1 << 64) - 1, name
            checked += 1
    assert checked > 20


def test_helpers_are_numbered_as_in_the_header():
    pairs = re.findall(r"^\s+FN\((\w+)(?:, (\d+), ##ctx)?\)", header("bpf.h"), re.MULTILINE)
    assert len(pairs) > 100
    for position, (name, number) in enumerate(pairs):
        assert helpers.NAMES[int(number or position)] == name


def test_attr_flags_are_the_bits_of_the_bit_field():
    """The bit-field of struct perf_event_attr, counted in order; precise_ip has two bits."""
    text = header("perf_event.h")
    body = re.search(r"__u64\s+disabled\s+:.*?__reserved_1", text, re.DOTALL)[0]
    fields = [(n, int(w)) for n, w in re.findall(r"(\w+)\s*:\s*(\d+)", body) if n != "__reserved_1"]
    names: list[str] = []
    for name, width in fields:
        names += ["precise_ip_low", "precise_ip_high"] if name == "precise_ip" else [name] * width
    assert perf.ATTR_FLAGS[: len(names)] == tuple(names)
    for name, value in vars(perf).items():
        if name.startswith("FLAG_"):
            assert perf.ATTR_FLAGS[value.bit_length() - 1].upper() == name.removeprefix("FLAG_"), name
