"""The configuration of a script as settings of its program."""

from __future__ import annotations

from probescope.frozen import fields
from probescope.ir.program import Settings
from probescope.lang.bt.config import Config

_PAGE = 4096
_MOST_RING = 1 << 30


def settings_of(config: Config) -> Settings:
    return Settings(
        max_strlen=config.max_strlen,
        max_map_keys=config.max_map_keys,
        max_cat_bytes=config.max_cat_bytes,
        max_programs=config.max_bpf_progs,
        on_stack_limit=config.on_stack_limit,
        ring_bytes=_ring(config.perf_rb_pages),
        stack_mode=config.stack_mode,
        unwind=config.unwind,  # type: ignore[arg-type]  # one of the words that the key allows
        print_maps_at_exit=config.print_maps_on_exit,
        map_format=config.map_format,
        license=config.license,
        truncation_mark=config.str_trunc_trailer,
        cpp_demangle=config.cpp_demangle,
        lazy_symbols=config.lazy_symbolication,
        show_debug_info=config.show_debug_info,
        missing_probes=config.missing_probes,  # type: ignore[arg-type]  # one of the words that the key allows
    )


def _ring(pages: int) -> int:
    """A power of two, as ring buffers have to be; 0 lets the collector choose."""
    return min(_PAGE << (pages - 1).bit_length(), _MOST_RING) if pages > 0 else 0


def values_of(config: Config) -> list[tuple[str, int | bool | str]]:
    """Every key and its value, as the ``config`` builtin shows them."""
    return [(f.name, getattr(config, f.name)) for f in fields(config) if f.name != "explicit"]
