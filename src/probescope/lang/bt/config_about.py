"""What the keys of ``config.py`` and the variables of the environment are for: the reference shows it."""

from __future__ import annotations

ABOUT: dict[str, str] = {
    "cache_user_symbols": "nothing to choose here: a file's symbols are read once, whoever maps it, and addresses go "
    "through the mappings of each process",
    "cpp_demangle": "names of C++ and Rust as people write them",
    "lazy_symbolication": "nothing to choose here: names are found when they are printed, also of processes that ended",
    "license": "of the programs that are loaded",
    "log_size": "nothing to choose here: the verifier's log is asked for when a program was refused, as large as it is",
    "map_format": "maps as `lines`, `table`, `csv` or `tsv`",
    "max_bpf_progs": "programs that may be loaded",
    "max_cat_bytes": "bytes that `cat` prints of a file",
    "max_map_keys": "keys of a map that is not declared with a size",
    "max_probes": "probes that may be attached",
    "max_strlen": "bytes of `str`, `buf` and `path` without a length",
    "missing_probes": "`error`, `warn` or `ignore` those that cannot be attached",
    "on_stack_limit": "bytes of a value on the stack of a program; larger ones lie in memory of their own",
    "perf_rb_pages": "pages of the ring that events come through, 0: by the memory of the machine",
    "print_maps_on_exit": "maps are printed at the end",
    "show_debug_info": "source lines and inlined functions of stacks",
    "stack_mode": "`bpftrace`, `perf`, `raw` or `build_id`",
    "str_trunc_trailer": "what stands behind a text that was cut",
    "unstable_dw_ustack": "`dw_ustack`: `enable`, `warn` or `error`",
    "unstable_import_statement": "`import`: the same",
    "unstable_tseries": "`tseries`: the same",
    "unstable_typeinfo": "`typeinfo`: the same",
    "unwind": "user stacks by unwind tables: `auto` (without frame pointers), `always`, `off`",
    "use_blazesym": "nothing to choose here: symbols are read by probescope itself",
}
"""What each key is for."""

VARIABLES: dict[str, str] = {
    "BPFTRACE_BTF": "a file of BTF (raw, or a vmlinux) whose types scripts see instead of the running kernel's",
    "BPFTRACE_KERNEL_SOURCE": "a kernel's source: its `include` folders are where `#include` looks last",
    "BPFTRACE_KERNEL_BUILD": "where that was built, if elsewhere: for the headers that are generated",
    "BPFTRACE_VMLINUX": "the kernel's file with debug information, for source lines of `kstack`; it has to have the "
    "build id of the running kernel. Offsets of kprobes need none: the kernel's own code is looked at",
    "BPFTRACE_COLOR": "`auto`, `always` or `never`",
}
"""Of the environment only."""
