"""bpf(2) on this kernel: maps, programs and links do what they say, in time, and leave nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

import pytest
from work import instructions

from probescope.errors import KernelError, VerifierError
from probescope.kernel import bpf, bpf_btf, bpf_link, bpf_map, bpf_prog, features, perf_attr, perf_event
from probescope.kernel.fds import close_all, forget_fds, open_fds
from probescope.kernel.features.btf_ids import FUNC, TYPEDEF, type_id
from probescope.kernel.features.tiny import EXIT, RETURN_0, call, insn, load, mov
from probescope.kernel.machine import possible_cpus
from probescope.kernel.procfs import maps
from probescope.kernel.uapi import bpf as u

U64 = struct.Struct("=Q")
NCPU = len(possible_cpus())
libc = ctypes.CDLL(None)


@pytest.fixture(autouse=True)
def no_descriptor_is_leaked():
    """Every Fd made by a test is closed by it."""
    forget_fds()
    yield
    assert [str(f) for f in open_fds()] == []


def counter(map_fd: int, slot: int = 0) -> bytes:
    """r1 = &array[0][slot * 8]; lock *r1 += 1; return 0"""
    value = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=map_fd) + insn(0, imm=8 * slot)
    return value + mov(2, 1) + insn(0xDB, 1, 2) + RETURN_0


def only_this_process(body: bytes) -> bytes:
    """r6 = r1; if (get_current_pid_tgid() >> 32 != our pid) return 0; body"""
    head = insn(0xBF, 6, 1) + call(14) + insn(0x77, 0, imm=32)
    return head + insn(0x15, 0, off=2, imm=os.getpid()) + RETURN_0 + body


@contextlib.contextmanager
def counting():
    """An array of eight counters that programs add to, and a function that reads one."""
    with (
        bpf_map.map_create(u.BPF_MAP_TYPE_ARRAY, 4, 64, 1, flags=u.BPF_F_MMAPABLE, name="counters") as m,
        m.mmap() as page,
    ):
        yield m, lambda slot=0: U64.unpack_from(page.view, 8 * slot)[0]


# --- maps
# ----------------------------------------------------------------------------------------------------------------


def test_a_hash_by_key():
    with bpf_map.map_create(u.BPF_MAP_TYPE_HASH, 4, 8, 3, name="by_key") as m:
        assert m.lookup(b"aaaa") is None
        assert m.delete(b"aaaa") is False
        m.update(b"aaaa", U64.pack(1))
        m.update(b"bbbb", U64.pack(2))
        assert m.lookup(b"bbbb") == U64.pack(2)
        assert sorted(m.keys()) == [b"aaaa", b"bbbb"]
        assert m.lookup(b"aaaa", delete=True) == U64.pack(1)
        assert dict(iter(m.dump())) == {b"bbbb": U64.pack(2)}
        with pytest.raises(KernelError) as e:
            m.update(b"bbbb", U64.pack(3), u.BPF_NOEXIST)
        assert e.value.errno_name == "EEXIST"
        info = m.info()
        assert (info.type, info.key_size, info.value_size, info.max_entries, info.name) == ("hash", 4, 8, 3, "by_key")


def test_a_full_map_says_so():
    with bpf_map.map_create(u.BPF_MAP_TYPE_HASH, 4, 8, 1) as m:
        m.update(b"aaaa", U64.pack(1))
        with pytest.raises(KernelError) as e:
            m.update(b"bbbb", U64.pack(1))
        assert any("max_map_keys" in hint for hint in e.value.hints)


@pytest.mark.parametrize("kind", ["percpu_hash", "lru_percpu_hash", "percpu_array"])
def test_per_cpu_values_are_rows(kind):
    """The row has a slot for each possible CPU, and comes back as it went in, by key and by batch."""
    row = b"".join(U64.pack(100 + cpu) for cpu in range(NCPU))
    with bpf_map.map_create(u.MAP_TYPE_IDS[kind], 4, 8, 1) as m:
        m.update(bytes(4), row)
        assert m.lookup(bytes(4)) == row
        assert list(m.dump()) == [(bytes(4), row)]


def test_clear_empties_hashes_and_zeroes_arrays():
    for kind, left in (
        ("hash", []),
        ("array", [(bytes(4), bytes(8))]),
        ("percpu_array", [(bytes(4), bytes(8 * NCPU))]),
    ):
        with bpf_map.map_create(u.MAP_TYPE_IDS[kind], 4, 8, 1) as m:
            m.update(bytes(4), b"\1" * m.value_bytes)
            m.clear()
            assert list(m.dump()) == left


def test_a_hundred_thousand_entries_are_read_at_once():
    """In batches, with fewer instructions of Python than entries."""
    with bpf_map.map_create(u.BPF_MAP_TYPE_HASH, 8, 8, 120_000, name="large") as m:
        for i in range(100_000):
            m.update(U64.pack(i), U64.pack(3 * i))
        work = instructions(m.dump)
        entries = m.dump(delete=True)
        assert entries.count == 100_000
        assert m.dump().count == 0
        keys, values = entries.keys.cast("Q"), entries.values.cast("Q")
        assert sorted(keys) == list(range(100_000))
        assert all(values[i] == 3 * keys[i] for i in range(0, 100_000, 997))
    assert work < 20_000


def test_a_dump_in_several_batches_misses_nothing(monkeypatch):
    """A map larger than the batch buffer."""
    monkeypatch.setattr(bpf_map, "_BATCH_BYTES", 16 * 100)
    with bpf_map.map_create(u.BPF_MAP_TYPE_HASH, 8, 8, 5000) as m:
        for i in range(5000):
            m.update(U64.pack(i), U64.pack(i))
        assert sorted(m.dump().keys.cast("Q")) == list(range(5000))


def test_frozen_maps_refuse_writes():
    with bpf_map.map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1, flags=u.BPF_F_RDONLY_PROG) as m:
        m.freeze()
        with pytest.raises(KernelError):
            m.update(bytes(4), bytes(8))


# --- programs
# ------------------------------------------------------------------------------------------------------------


def test_a_refused_program_says_why():
    with pytest.raises(VerifierError) as e:
        bpf_prog.prog_load(bpf_prog.Load(u.BPF_PROG_TYPE_KPROBE, insn(0x79, 0, 2) + EXIT, "reads_r2"))
    assert e.value.reason == "R2 !read_ok"
    assert e.value.where == "reads_r2"


def test_a_log_that_does_not_fit_at_first():
    """Level 2 on a program of 3,000 instructions: some 100 KB, more than the first buffer."""
    code = mov(0, 0) * 3000 + EXIT
    prog, log = bpf_prog.prog_load_verbose(bpf_prog.Load(u.BPF_PROG_TYPE_KPROBE, code), 2)
    prog.close()
    assert len(log) > bpf_prog.LOG_FIRST
    assert "processed 3001 insns" in log


def test_test_runs_return_what_the_program_returns():
    with load("raw_tracepoint", mov(0, 42) + EXIT) as p:
        assert bpf_prog.prog_test_run(p).retval == 42
    with load("syscall", insn(0x61, 0, 1) + EXIT) as p:  # r0 = *(u32 *)ctx
        assert bpf_prog.prog_test_run(p, ctx=struct.pack("=I", 77)).retval == 77
    with load("socket_filter") as p:
        assert bpf_prog.prog_test_run(p, data=bytes(64), repeat=1000).duration_ns < 1_000_000  # of one run


def test_info_and_statistics():
    """run_count counts our own runs while statistics are on."""
    with counting() as (m, _), load("raw_tracepoint", counter(m.fileno())) as p, bpf.enable_stats():
        before = p.info()
        for _ in range(10):
            bpf_prog.prog_test_run(p)
        after = p.info()
    assert (after.type, after.name, after.xlated_len) == ("raw_tracepoint", "try", 6 * 8)
    assert after.verified_insns == 5  # a 64-bit immediate is one instruction of two slots
    assert after.run_count - before.run_count == 10
    assert after.run_time_ns > before.run_time_ns


def test_objects_are_found_by_id_and_gone_after_close():
    with load("kprobe") as p:
        number = p.info().id
        assert number in set(bpf.object_ids("prog"))
        with bpf.object_fd("prog", number) as other:
            assert bpf_prog.prog_info(other).id == number
    assert bpf.object_fd("prog", 0xFFFFFFF) is None


# --- links
# ---------------------------------------------------------------------------------------------------------------


def test_raw_tracepoint_with_cookie_fires():
    """getppid in this process: counted, and the cookie arrives."""
    body = insn(0xBF, 1, 6) + call(174)
    with counting() as (m, read):
        store = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=m.fileno()) + insn(0, imm=8) + insn(0x7B, 1, 0)
        with (
            load("raw_tracepoint", only_this_process(body + store + counter(m.fileno()))) as p,
            bpf_link.raw_tracepoint_open(p, "sys_enter", 0x1234) as link,
        ):
            for _ in range(5):
                os.getppid()
            info = link.info()
            assert (info.type, info.prog_id) == ("raw_tracepoint", p.info().id)
        fired = read(0)
        assert fired >= 5
        assert read(1) == 0x1234
        os.getppid()
        assert read(0) == fired, "still attached after close"


def test_six_hundred_links_come_and_go_quickly():
    """One system call to open a link, one to close it, and little Python around them."""
    links = []
    with load("raw_tracepoint") as p:

        def attach() -> None:
            links.extend(bpf_link.raw_tracepoint_open(p, "sched_process_exit") for _ in range(600))

        opening = instructions(attach)
        closing = instructions(lambda: close_all(links))
    assert len(links) == 600
    assert opening < 600 * 1000
    assert closing < 600 * 200


def test_tp_btf_fires():
    number = type_id("btf_trace_sys_enter", TYPEDEF)
    with counting() as (m, read):
        wanted = bpf_prog.Load(
            u.BPF_PROG_TYPE_TRACING,
            only_this_process(counter(m.fileno())),
            "tp_btf",
            expected_attach_type=u.BPF_TRACE_RAW_TP,
            attach_btf_id=number,
        )
        with bpf_prog.prog_load(wanted) as p, bpf_link.link_tracing(p, u.BPF_TRACE_RAW_TP):
            os.getppid()
        assert read() >= 1


def libc_symbol(name: str) -> tuple[str, int]:
    """Path and file offset of a function of the C library, from its address and /proc/self/maps."""
    address = ctypes.cast(getattr(libc, name), ctypes.c_void_p).value
    entry = next(m for m in maps(os.getpid()) if m.start <= address < m.end)
    return entry.path, address - entry.start + entry.offset


def test_uprobe_multi_with_cookies_and_pid():
    """Two functions of the C library in one link; each hit carries the cookie of its place."""
    path, one = libc_symbol("getppid")
    _, two = libc_symbol("getpgid")
    with counting() as (m, read):
        # r0 = cookie; *(&counters + 8 * cookie) += 1, cookies being 1 and 2
        body = call(174) + insn(0x67, 0, imm=3) + insn(0x57, 0, imm=63)
        base = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=m.fileno()) + insn(0)
        add = insn(0x0F, 1, 0) + mov(2, 1) + insn(0xDB, 1, 2) + RETURN_0
        code = body + insn(0xB5, 0, off=1, imm=56) + mov(0, 0) + base + add
        wanted = bpf_prog.Load(u.BPF_PROG_TYPE_KPROBE, code, expected_attach_type=u.BPF_TRACE_UPROBE_MULTI)
        with bpf_prog.prog_load(wanted) as p:
            with bpf_link.link_uprobe_multi(p, path, [one, two], cookies=[1, 2], pid=os.getpid()):
                for _ in range(3):
                    libc.getppid()
                libc.getpgid(0)
            with bpf_link.link_uprobe_multi(p, path, [one], cookies=[3], pid=1):
                libc.getppid()
        assert [read(slot) for slot in range(4)] == [0, 3, 1, 0]


def test_uprobe_pmu_with_a_link():
    path, offset = libc_symbol("getppid")
    with (
        counting() as (m, read),
        load("kprobe", counter(m.fileno())) as p,
        perf_event.perf_event_open(perf_attr.uprobe_attr(path, offset), pid=os.getpid()) as event,
        bpf_link.link_perf_event(p, event, 5) as link,
    ):
        assert link.info().type == "perf_event"
        query = bpf.task_fd_query(os.getpid(), event.fileno())
        assert (query.prog_id, query.name, query.offset) == (p.info().id, path, offset)
        libc.getppid()
        assert read() == 1


def test_iterators_walk_over_tasks():
    """bpf_seq_write of four bytes for each task: as many as /proc shows threads, or nearly so."""
    number = type_id("bpf_iter_task", FUNC)
    # r6 = ctx; r7 = ctx->task; if (!r7) return 0; seq_write(meta->seq, "AAAA", 4)
    code = insn(0xBF, 6, 1) + insn(0x79, 7, 6, 8) + insn(0x55, 7, off=2) + RETURN_0
    code += insn(0x79, 2, 6) + insn(0x79, 1, 2) + insn(0x7A, 10, off=-8, imm=0x41414141)
    code += insn(0xBF, 2, 10) + insn(0x07, 2, imm=-8) + mov(3, 4) + call(127) + RETURN_0
    wanted = bpf_prog.Load(u.BPF_PROG_TYPE_TRACING, code, expected_attach_type=u.BPF_TRACE_ITER, attach_btf_id=number)
    with bpf_prog.prog_load(wanted) as p, bpf_link.link_iter(p) as link, bpf_link.iter_create(link) as walk:
        data = b""
        while part := os.read(walk.fileno(), 65536):
            data += part
    assert data == b"AAAA" * (len(data) // 4)
    assert len(data) // 4 > 10


def test_the_kernels_own_btf_is_found_by_name():
    """Its size is that of the file in sysfs; no module can have that other name."""
    with bpf_btf.kernel_btf("vmlinux") as fd:
        info = bpf_btf.btf_info(fd)
    assert (info.name, info.kernel) == ("vmlinux", True)
    assert info.size == os.path.getsize("/sys/kernel/btf/vmlinux")
    assert bpf_btf.kernel_btf("no such module") is None


def test_kprobe_multi_names_the_function_that_cannot_be_traced():
    if not features.have("attach:kprobe_multi"):
        pytest.skip("this kernel has no kprobe_multi")
    with load("kprobe_multi") as p, pytest.raises(KernelError) as e:
        bpf_link.link_kprobe_multi(p, symbols=["no_such_function"])
    assert any("available_filter_functions" in hint for hint in e.value.hints)


def test_functions_of_loaded_programs_by_their_btf() -> None:
    """A program of ours is found among all, by its id, with a type that its BTF calls as we did."""
    from probescope.bpf.btf_writer import BtfWriter, pack_func_info
    from probescope.debuginfo.btf import Btf
    from probescope.kernel import bpf_functions
    from probescope.kernel.bpf import btf_load

    w = BtfWriter()
    type_id = w.function(
        "seen_by_others", w.prototype(w.integer("int", 4, signed=True), [("ctx", w.pointer())]), "global"
    )
    code = bytes.fromhex("b7000000000000009500000000000000")  # r0 = 0; exit
    with btf_load(w.data()) as btf:
        load = bpf_prog.Load(17, code, btf_fd=btf, func_info=pack_func_info([(0, type_id)]))
        with bpf_prog.prog_load(load) as prog:
            number = prog.info().id
            (found,) = bpf_functions.loaded(number)
            assert found in list(bpf_functions.loaded())
            name = Btf.parse(bpf_functions.btf_bytes(found.btf)).name_of(found.types[0])
    assert name == "seen_by_others"
    assert list(bpf_functions.loaded(number)) == []
