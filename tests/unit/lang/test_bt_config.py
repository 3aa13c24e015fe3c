"""Configuration: keys, spellings, types, the environment."""

from __future__ import annotations

import pytest
from lang_shape import program

from probescope.errors import ScriptError, UsageError
from probescope.lang.bt.config import KEYS, Config, configure


def config(text: str, environment: dict[str, str] | None = None) -> tuple[Config, list[str]]:
    entries = program(f"config = {{ {text} }} begin {{ }}").configs[0].entries
    made, warnings = configure(entries, environment or {})
    return made, [w.message for w in warnings]


def test_defaults_are_those_of_the_manual() -> None:
    made, _ = configure([], {})
    assert (made.max_strlen, made.max_map_keys, made.max_probes, made.max_bpf_progs) == (1024, 4096, 1024, 1024)
    assert (made.max_cat_bytes, made.on_stack_limit, made.log_size) == (10240, 32, 1_000_000)
    assert (made.stack_mode, made.missing_probes, made.str_trunc_trailer, made.license) == (
        "bpftrace",
        "error",
        "..",
        "GPL",
    )
    assert made.print_maps_on_exit
    assert made.cpp_demangle
    assert not made.lazy_symbolication
    assert made.explicit == frozenset()


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("max_strlen = 64", "max_strlen", 64),
        ("BPFTRACE_MAX_STRLEN = 64", "max_strlen", 64),
        ("Max_Strlen = 64", "max_strlen", 64),
        ("bpftrace_max_strLen = 0x40", "max_strlen", 64),
        ('max_map_keys = "1e3"', "max_map_keys", 1000),
        ("stack_mode = perf", "stack_mode", "perf"),
        ("stack_mode = RAW", "stack_mode", "raw"),
        ("print_maps_on_exit = 0", "print_maps_on_exit", False),
        ("print_maps_on_exit = false", "print_maps_on_exit", False),
        ('cpp_demangle = "no"', "cpp_demangle", False),
        ("str_trunc_trailer = 0", "str_trunc_trailer", "0"),
        ('str_trunc_trailer = ""', "str_trunc_trailer", ""),
        ("missing_probes = warn", "missing_probes", "warn"),
        ('cache_user_symbols = "PER_PROGRAM"', "cache_user_symbols", "per_program"),
        ("cache_user_symbols = 0", "cache_user_symbols", "none"),
        ('license = "Dual MPL/GPL"', "license", "Dual MPL/GPL"),
        ("unstable_tseries = enable", "unstable_tseries", "enable"),
        ("unstable_tseries = 0", "unstable_tseries", "error"),
    ],
)
def test_values(text: str, key: str, value: object) -> None:
    """Any case, with or without the prefix; numbers, words and truth values come to the type of the key."""
    made, warnings = config(text)
    assert (getattr(made, key), made.explicit, warnings) == (value, frozenset({key}), [])


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("bad_config = 1", "bad_config: not a known configuration option", ""),
        ("max_strln = 1", "max_strln: not a known configuration option", "max_strlen"),
        ("max_probes = hello", "max_probes: expecting a number, got hello", ""),
        ("max_strlen = 0", "is not between 1 and", ""),
        ("stack_mode = perv", "Invalid value for stack_mode. Found: perv", "perf"),
        ("print_maps_on_exit = maybe", "Invalid bool value 'maybe'", ""),
        ("license = Potato", "Found: Potato. Valid values: Dual MIT/GPL, Dual BSD/GPL", ""),
        ("missing_probes = 1", "Invalid value for missing_probes", ""),
        ("kernel_build = 1", "kernel_build: can only be set as an environment variable", ""),
    ],
)
def test_wrong_values(text: str, what: str, hint: str) -> None:
    with pytest.raises(ScriptError) as e:
        config(text)
    (finding,) = e.value.diagnostics
    assert what in finding.message
    assert hint in " ".join(finding.hints)
    assert finding.span.column == 12


def test_old_keys_still_work() -> None:
    made, warnings = config("strlen = 99; symbol_source = dwarf; no_cpp_demangle = 1")
    assert (made.max_strlen, made.cpp_demangle) == (99, False)
    assert warnings == [
        "strlen has been renamed, please use max_strlen",
        "symbol_source is deprecated and has no effect",
        "no_cpp_demangle has been renamed, please use cpp_demangle",
    ]


def test_the_environment_wins() -> None:
    made, _ = config("max_strlen = 64; stack_mode = perf", {"BPFTRACE_MAX_STRLEN": "128", "BPFTRACE_UNKNOWN": "1"})
    assert (made.max_strlen, made.stack_mode) == (128, "perf")
    with pytest.raises(UsageError, match="BPFTRACE_MAX_STRLEN: expecting a number, got x"):
        configure([], {"BPFTRACE_MAX_STRLEN": "x"})


def test_every_key_has_a_field() -> None:
    made, _ = configure([], {})
    assert all(hasattr(made, key) for key in KEYS)
