"""Compiles programs and runs the result in this kernel: raw tracepoint programs by BPF_PROG_TEST_RUN, whose arguments
we make up."""

from __future__ import annotations

import os
import struct
from typing import Any

from probescope.bpf.compile import compile_program
from probescope.bpf.insn import pack
from probescope.bpf.lower_read import UNTYPED
from probescope.bpf.scan import LIVENESS
from probescope.bpf.storage import read_counters, storages
from probescope.bpf.unit import Object, Options, Unit
from probescope.collect.btfs import KernelBtf
from probescope.debuginfo.btf_blob import STRUCT
from probescope.debuginfo.btf_cache import load as load_btf
from probescope.errors import KernelError
from probescope.ir.program import Action, Clause, MapDecl, Program, Settings
from probescope.kernel.bpf import btf_load
from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load, prog_test_run
from probescope.kernel.features import features
from probescope.kernel.ringbuf import RingBuffer
from probescope.model.abi import record_layout
from probescope.model.codec import record_decoder
from probescope.model.features import BASELINE_6_1, Features
from probescope.model.site import RawTracepointAttach, Site

KINDS = {"raw_tracepoint": 17, "tracepoint": 5, "kprobe": 2, "perf_event": 7, "tp_btf": 26, "syscall": 31}
MODERN = Features.of(
    [
        *BASELINE_6_1.yes,
        "isa:v4",
        "isa:may_goto",
        "isa:gotol",
        "helper:map_lookup_percpu_elem",
        "map:no_prealloc",
        LIVENESS,
    ]
)
"""What a kernel from 6.18 on offers, as far as the compiler asks."""


def here() -> Features:
    """What the kernel that the tests run on offers of these."""
    if os.geteuid():
        return MODERN
    found = features(MODERN.yes - {LIVENESS})
    live = load_btf("/sys/kernel/btf/vmlinux").find("bpf_liveness", STRUCT)
    return Features(found.yes | {LIVENESS}, found.no) if live else found


NEW = here()
FEATURES = {"6.1": BASELINE_6_1, "new": NEW}


def untyped_reads() -> Features | None:
    """The same with plain reads of kernel memory, if the verifier allows them."""
    cast = KernelBtf().find("func", "bpf_rdonly_cast")
    if not cast:
        return None
    insns = [(0xB7, 1, 0, 0, 0), (0xB7, 2, 0, 0, 0), (0x85, 0, 2, 0, cast), (0x71, 0, 0, 0, 0), (0x95, 0, 0, 0, 0)]
    try:
        prog_load(Load(KINDS["raw_tracepoint"], pack(insns))).close()
    except KernelError:
        return None
    return Features(NEW.yes | {UNTYPED}, NEW.no)


SITE = Site("rawtracepoint:test", "rawtracepoint", RawTracepointAttach("test"))


def program(
    body: Any,
    *,
    maps: tuple[MapDecl, ...] = (),
    actions: tuple[Action, ...] = (),
    variables: Any = (),
    predicate: Any = None,
    settings: Settings | None = None,
    sites: tuple[Site, ...] = (SITE,),
    types: Any = None,
) -> Program:
    clause = Clause(0, sites, tuple(body), predicate, tuple(variables))
    return Program((clause,), maps, actions, settings or Settings(), types=types)


def unit(**more: Any) -> Unit:
    return Unit(**{"name": "t", "clause": 0, "kind": "raw_tracepoint", "sites": (0,), **more})


class Loaded:
    """An object's maps and programs in the kernel."""

    def __init__(self, p: Program, units: tuple[Unit, ...], options: Options, **load: Any) -> None:
        self.program = p
        self.options = options
        self.object: Object = compile_program(p, units, options)
        self.storages = storages(p, options)
        self.maps = {}
        self.btf = btf_load(self.object.btf) if self.object.btf else None
        for m in self.object.maps:
            made = map_create(m.type, m.key_size, m.value_size, m.max_entries, flags=m.flags, name=m.name)
            self.maps[m.name] = made
            if m.content:
                made.update(bytes(4), m.content)
                made.freeze()
        ring = next((m for m in self.object.maps if m.role == "ring"), None)
        self.ring = RingBuffer(self.maps["ring"], ring.max_entries) if ring and ring.type == 27 else None
        self.programs = {s.name: self._load(s, **load) for s in self.object.programs}

    def _load(self, spec: Any, **more: Any) -> Any:
        code = bytearray(spec.insns)
        for r in spec.relocs:
            number = KernelBtf().find("func", r.name) if r.kind == "kfunc" else self.maps[r.name].fileno()
            struct.pack_into("=i", code, r.insn * 8 + 4, number)
        info = b"".join(struct.pack("=II", *pair) for pair in spec.func_info)
        flags = 16 if spec.kind == "syscall" else 0
        return prog_load(
            Load(
                KINDS[spec.kind],
                bytes(code),
                name=spec.name,
                btf_fd=self.btf if info else None,
                func_info=info,
                flags=flags,
                **more,
            )
        )

    def run(self, *args: int, name: str = "t") -> int:
        prog = self.programs[name]
        if prog.type == 31:
            return prog_test_run(prog, ctx=bytes(8)).retval
        ctx = b"".join(struct.pack("=Q", a & ((1 << 64) - 1)) for a in args).ljust(12 * 8, b"\0")
        return prog_test_run(prog, ctx=ctx).retval

    def map(self, name: str) -> dict[Any, Any]:
        """Keys and values or states; of a map without keys ``{None: value}``, empty if never set."""
        codec, held = self.storages[name].codec(), self.maps[f"@{name}"]
        if self.storages[name].decl.key is None:
            row = held.lookup(bytes(4))
            value = None if row is None else codec.value(row)
            return {} if value is None else {None: value}
        return {codec.key(k): codec.value(v) for k, v in held.dump()}

    def counters(self) -> dict[str, int]:
        held = self.maps.get("counters")
        out: dict[str, int] = {}
        if held is not None:
            for c, n in zip(self.object.counters, read_counters(held.lookup(bytes(4)) or b""), strict=True):
                if n:
                    out[c.kind] = out.get(c.kind, 0) + n
        return out

    def records(self) -> list[tuple[int, tuple[Any, ...]]]:
        """(action, values) of everything in the ring."""
        assert self.ring is not None
        out = []
        while got := self.ring.consume():
            for data in got:
                raw = bytes(data)
                action = struct.unpack_from("=I", raw)[0]
                layout = record_layout(self.program.actions[action].types, self.options.types)
                out.append((action, record_decoder(layout, self.options.types)(raw)))
        return out

    def close(self) -> None:
        if self.ring is not None:
            self.ring.close()
        for held in (*self.programs.values(), *self.maps.values(), *([self.btf] if self.btf else [])):
            held.close()

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(p: Program, features: Features = NEW, *, cpus: int = 2, ring: int = 1 << 16, **more: Any) -> Loaded:
    """One clause, one raw tracepoint program named ``t``."""
    return Loaded(p, (unit(**more),), Options(features=features, cpus=cpus, ring_bytes=ring, types=p.types))
