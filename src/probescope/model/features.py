"""What a kernel can do, as a value: names answered yes or no; a name in neither set is unknown.

Pure compilers take a ``Features`` as an argument, so they can be tested for any kernel on any machine. The names are
those of ``kernel/features``: a BPF helper is ``helper:NAME``, a map type ``map:NAME``, a kfunc ``kfunc:NAME``, an
instruction ``isa:NAME``, an attach mechanism ``attach:NAME``.
"""

from __future__ import annotations

from collections.abc import Iterable

from probescope.frozen import dataclass, field


@dataclass(frozen=True, slots=True)
class Features:
    yes: frozenset[str] = field(default_factory=frozenset)
    no: frozenset[str] = field(default_factory=frozenset)

    def has(self, name: str) -> bool:
        """True only for a definite yes: unknown never counts as available."""
        return name in self.yes

    def lacks(self, name: str) -> bool:
        return name in self.no

    @staticmethod
    def of(yes: Iterable[str], no: Iterable[str] = ()) -> Features:
        return Features(frozenset(yes), frozenset(no))


BASELINE_6_1 = Features.of(
    [
        "map:ringbuf",
        "map:percpu_hash",
        "map:percpu_array",
        "map:lru_hash",
        "map:stack_trace",
        "helper:get_attach_cookie",
        "helper:get_func_ip",
        "helper:loop",
        "helper:for_each_map_elem",
        "helper:probe_read_kernel",
        "helper:probe_read_kernel_str",
        "helper:probe_read_user",
        "helper:probe_read_user_str",
        "helper:get_current_task_btf",
        "helper:ktime_get_boot_ns",
        "helper:ktime_get_tai_ns",
        "helper:strncmp",
        "isa:v2",
        "isa:v3",
        "isa:atomic_fetch",
        "isa:bounded_loop",
        "attach:perf_link",
        "attach:raw_tracepoint",
        "attach:tp_btf",
    ]
)
"""What Linux 6.1 offers on any sensible configuration: the default for tests and for ``--emit`` without a live
kernel."""
