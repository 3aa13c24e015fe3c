"""The configuration of a script: every key of the manual, its type, its default; from ``config = { ... }`` and the
environment.

A variable of the environment (``BPFTRACE_MAX_STRLEN``) wins over the script. Keys may be written in any case, with or
without the prefix ``BPFTRACE_``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.diagnostics import Diagnostic, Source, nearest
from probescope.errors import ScriptError, UsageError
from probescope.frozen import dataclass
from probescope.lang.bt import literals
from probescope.lang.bt.ast import ConfigEntry

LICENSES = ("Dual MIT/GPL", "Dual BSD/GPL", "Dual MPL/GPL", "GPL and additional rights", "GPL v2", "GPL")

PREFIX = "BPFTRACE_"


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes are in bytes. ``explicit`` holds the keys that were set by anybody, in their canonical spelling."""

    cache_user_symbols: str = "auto"  # per_pid, per_program, none; auto: by address space randomisation and -c
    cpp_demangle: bool = True
    lazy_symbolication: bool = False
    license: str = "GPL"
    log_size: int = 1_000_000
    map_format: str = "lines"  # lines, table, csv, tsv: ours
    max_bpf_progs: int = 1024
    max_cat_bytes: int = 10_240
    max_map_keys: int = 4096
    max_probes: int = 1024
    max_strlen: int = 1024
    missing_probes: str = "error"  # error, warn, ignore
    on_stack_limit: int = 32
    perf_rb_pages: int = 0  # pages of 4 KiB in all; 0: by the memory of the machine
    print_maps_on_exit: bool = True
    show_debug_info: bool = True
    stack_mode: str = "bpftrace"  # bpftrace, perf, raw, build_id
    str_trunc_trailer: str = ".."
    unstable_dw_ustack: str = "warn"  # error, warn, enable
    unstable_import_statement: str = "warn"
    unstable_tseries: str = "warn"
    unstable_typeinfo: str = "warn"
    unwind: str = "auto"  # auto, always, off: user stacks by unwind tables; auto: without frame pointers. Ours
    use_blazesym: bool = True
    explicit: frozenset[str] = frozenset()


_BOOLS = ("cpp_demangle", "lazy_symbolication", "print_maps_on_exit", "show_debug_info", "use_blazesym")
_NUMBERS = (
    "log_size max_bpf_progs max_cat_bytes max_map_keys max_probes max_strlen on_stack_limit perf_rb_pages"
).split()
_CHOICES: dict[str, tuple[str, ...]] = {
    "cache_user_symbols": ("per_pid", "per_program", "none"),
    "license": LICENSES,
    "map_format": ("lines", "table", "csv", "tsv"),
    "missing_probes": ("error", "warn", "ignore"),
    "stack_mode": ("bpftrace", "perf", "raw", "build_id"),
    "unstable_dw_ustack": ("enable", "warn", "error"),
    "unstable_import_statement": ("enable", "warn", "error"),
    "unstable_tseries": ("enable", "warn", "error"),
    "unstable_typeinfo": ("enable", "warn", "error"),
    "unwind": ("auto", "always", "off"),
}
_TEXTS = ("str_trunc_trailer",)
KEYS = (*_BOOLS, *_NUMBERS, *_CHOICES, *_TEXTS)

RENAMED = {
    "strlen": "max_strlen",
    "no_cpp_demangle": "cpp_demangle",
    "cat_bytes_max": "max_cat_bytes",
    "map_keys_max": "max_map_keys",
}
OBSOLETE = ("symbol_source", "max_type_res_iterations", "unstable_map_decl", "unstable_import", "unstable_macro")
"""Keys of other versions that mean nothing here: accepted, with a warning."""

ENVIRONMENT_ONLY = ("btf", "kernel_build", "kernel_source", "vmlinux", "color", "debug_output", "aslr")

_TRUE, _FALSE = ("true", "1", "on", "yes"), ("false", "0", "off", "no")
_LEAST = {"max_map_keys": 1, "max_bpf_progs": 1, "max_probes": 1, "max_strlen": 1, "log_size": 1}
_MOST = {
    "max_strlen": 1 << 20,
    "max_cat_bytes": 1 << 30,
    "max_map_keys": (1 << 32) - 1,
    "log_size": (1 << 32) - 1,
    "perf_rb_pages": 1 << 20,
    "max_probes": 1 << 20,
    "max_bpf_progs": 1 << 20,
    "on_stack_limit": 512,
}


class ConfigError(ValueError):
    def __init__(self, what: str, *hints: str) -> None:
        super().__init__(what)
        self.what = what
        self.hints = hints


def canonical(key: str) -> str:
    """``BPFTRACE_STACK_MODE`` -> ``stack_mode``."""
    low = key.lower()
    return low.removeprefix(PREFIX.lower())


def value_of(key: str, value: int | bool | str) -> int | bool | str:
    """``value`` checked and brought to the type of ``key`` (canonical); raises ``ConfigError``."""
    if key in _BOOLS:
        return _truth(value)
    if key in _NUMBERS:
        return _number(key, value)
    if key in _CHOICES:
        return _choice(key, value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _truth(value: int | bool | str) -> bool:
    if isinstance(value, int):
        return bool(value)
    low = value.lower()
    if low not in _TRUE and low not in _FALSE:
        raise ConfigError(f"Invalid bool value '{value}': valid values are true, false, 1 or 0.")
    return low in _TRUE


def _number(key: str, value: int | bool | str) -> int:
    try:
        number = literals.integer(value) if isinstance(value, str) else int(value)
    except literals.LiteralError:
        raise ConfigError(f"expecting a number, got {value}") from None
    least, most = _LEAST.get(key, 0), _MOST.get(key, literals.MAX_UINT)
    if not least <= number <= most:
        raise ConfigError(f"{number} is not between {least} and {most}")
    return number


def _choice(key: str, value: int | bool | str) -> str:
    allowed = _CHOICES[key]
    text = str(value) if key == "license" else str(value).lower()
    if key == "cache_user_symbols":
        text = {"0": "none", "false": "none", "1": "auto", "true": "auto"}.get(text, text)
        if text == "auto":
            return text
    if key.startswith("unstable_"):
        text = "enable" if text in _TRUE else "error" if text in _FALSE else text
    if text not in allowed:
        found = nearest(text, allowed, most=1)
        hints = (f"did you mean {found[0]}?",) if found else ()
        raise ConfigError(f"Invalid value for {key}. Found: {value}. Valid values: {', '.join(allowed)}.", *hints)
    return text


def configure(
    entries: Sequence[ConfigEntry], environment: Mapping[str, str], source: Source | None = None
) -> tuple[Config, list[Diagnostic]]:
    """The configuration, and warnings about old keys.

    Raises ``ScriptError`` for what is wrong in the script, ``UsageError`` for what is wrong in the environment.
    """
    values: dict[str, int | bool | str] = {}
    findings: list[Diagnostic] = []
    for entry in entries:
        try:
            warning = _set(values, entry.key, entry.value)
        except ConfigError as e:
            message = e.what if entry.key in e.what else f"{entry.key}: {e.what}"
            findings.append(Diagnostic("error", message, entry.span, e.hints, source))
            continue
        if warning:
            findings.append(Diagnostic("warning", warning, entry.span, (), source))
    if any(f.severity == "error" for f in findings):
        raise ScriptError(findings)
    for key in KEYS:
        text = environment.get(PREFIX + key.upper())
        if text is not None:
            try:
                values[key] = value_of(key, text)
            except ConfigError as e:
                raise UsageError(f"{PREFIX}{key.upper()}: {e.what}", where="environment", hints=e.hints) from None
    return Config(**values, explicit=frozenset(values)), findings  # type: ignore[arg-type]


def _set(values: dict[str, int | bool | str], written: str, value: int | bool | str) -> str:
    """Sets one key; returns a warning, or nothing."""
    key = canonical(written)
    if key in OBSOLETE:
        return f"{written} is deprecated and has no effect"
    if key in ENVIRONMENT_ONLY:
        raise ConfigError("can only be set as an environment variable")
    warning = ""
    if key in RENAMED:
        warning = f"{written} has been renamed, please use {RENAMED[key]}"
        if key == "no_cpp_demangle":
            value = not _truth(value)
        key = RENAMED[key]
    if key not in KEYS:
        found = nearest(key, KEYS)
        raise ConfigError(
            "not a known configuration option", *((f"did you mean {' or '.join(found)}?",) if found else ())
        )
    values[key] = value_of(key, value)
    return warning
