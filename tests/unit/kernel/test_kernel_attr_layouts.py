"""The bytes that go into bpf(2) and perf_event_open(2), against offsets counted by hand in include/uapi/linux/bpf.h.

Protects every caller: one field that slips by four bytes makes the kernel read garbage, and says only EINVAL.
"""

from __future__ import annotations

import errno
import struct

import pytest

from probescope.errors import KernelError, Unsupported
from probescope.kernel import bpf, bpf_link, bpf_map, bpf_prog, perf_attr, perf_event
from probescope.kernel.fake import Call, FakeHost
from probescope.kernel.host import use_host


def u32(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def u64(data: bytes, at: int) -> int:
    return struct.unpack_from("<Q", data, at)[0]


class Recorder:
    """Answers every bpf(2) with descriptor 7, and keeps each (command, attribute)."""

    def __init__(self, host: FakeHost) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self.pointed: dict[int, bytes] = {}
        host.on("bpf", self)

    def __call__(self, call: Call) -> int:
        command, address, size = call.args
        self.seen.append((command, call.memory(address, size)))
        for at, length in self.follow.get(command, ()):
            self.pointed[at] = call.memory(u64(self.seen[-1][1], at), length)
        return 7

    follow: dict[int, tuple[tuple[int, int], ...]] = {}


@pytest.fixture
def host():
    with use_host(FakeHost(files={"/sys/devices/system/cpu/possible": "0-3\n"})) as h:
        yield h


def test_map_create_places_each_field(host):
    """A map with a name, BTF and an inner map: all fields at their offsets, names cut to 15 and cleaned."""
    r = Recorder(host)
    m = bpf_map.map_create(
        13, 4, 8, 99, flags=0x400, name="a-name.that is too long", btf=5, key_btf=1, value_btf=2, inner=6, extra=3
    )
    command, a = r.seen[0]
    assert command == 0
    assert [u32(a, at) for at in (0, 4, 8, 12, 16, 20, 24)] == [13, 4, 8, 99, 0x400, 6, 0]
    assert a[28:44] == b"a_name.that_is_\0"
    assert [u32(a, at) for at in (44, 48, 52, 56, 60)] == [0, 5, 1, 2, 0]
    assert u64(a, 64) == 3
    assert m.fileno() == 7
    m.close()
    assert host.closed == [7]


def test_a_per_cpu_value_is_a_row_of_eight_byte_slots(host):
    """3-byte values on 4 possible CPUs take 32 bytes: a shorter buffer would be written past its end by the kernel."""
    Recorder(host)
    with bpf_map.map_create(5, 4, 3, 1) as m:
        assert m.value_bytes == 32


def test_map_element_commands(host):
    """map_fd@0, key@8, value@16, flags@24."""
    r = Recorder(host)
    r.follow = {2: ((8, 4), (16, 8))}
    with bpf_map.map_create(1, 4, 8, 1) as m:
        m.update(b"KEY.", b"VALUE...", 1)
    command, a = r.seen[1]
    assert (command, u32(a, 0), u64(a, 24)) == (2, 7, 1)
    assert r.pointed == {8: b"KEY.", 16: b"VALUE..."}


@pytest.mark.parametrize("key", [b"", b"123", b"12345"])
def test_a_key_of_the_wrong_size_never_reaches_the_kernel(host, key):
    """The kernel reads key_size bytes from our buffer, however long it is."""
    r = Recorder(host)
    with bpf_map.map_create(1, 4, 8, 1) as m:
        for use in (m.lookup, m.delete, lambda k: m.update(k, bytes(8))):
            with pytest.raises(ValueError, match="4 wanted"):
                use(key)
    assert len(r.seen) == 1


def test_batch_places_each_field(host):
    """in_batch@0 out_batch@8 keys@16 values@24 count@32 map_fd@36 elem_flags@40 flags@48."""
    r = Recorder(host)

    def batch(call: Call) -> int:
        command, address, size = call.args
        if command != 24:
            return r(call)
        a = call.memory(address, size)
        assert (u64(a, 0), u32(a, 32), u32(a, 36), u64(a, 40), u64(a, 48)) == (0, 10, 7, 0, 0)
        call.answer(u64(a, 16), b"k001k002")
        call.answer(u64(a, 24), b"v001....v002....")
        call.answer(address + 32, struct.pack("<I", 2))
        raise OSError(errno.ENOENT, "end")

    host.on("bpf", batch)
    with bpf_map.map_create(1, 4, 8, 10) as m:
        assert list(m.dump()) == [(b"k001", b"v001...."), (b"k002", b"v002....")]


def test_prog_load_places_each_field(host):
    """The 128 bytes that 5.10 knows: log fields empty at the first attempt, BTF and attach target in place."""
    r = Recorder(host)
    r.follow = {5: ((8, 16), (16, 4), (80, 8), (96, 16), (120, 8))}
    load = bpf_prog.Load(
        26,
        bytes(range(16)),
        name="prog",
        expected_attach_type=24,
        flags=16,
        attach_btf_id=1234,
        attach_btf_obj_fd=9,
        btf_fd=8,
        func_info=b"FUNCINFO",
        line_info=b"LINEINFOlineinfo",
        fd_array=(3, 4),
    )
    with bpf_prog.prog_load(load) as p:
        assert (p.fileno(), p.type) == (7, 26)
    command, a = r.seen[0]
    assert command == 5
    assert [u32(a, at) for at in (0, 4, 24, 28, 40, 44)] == [26, 2, 0, 0, 0, 16]
    assert u64(a, 32) == 0
    assert a[48:64] == b"prog".ljust(16, b"\0")
    assert [u32(a, at) for at in (64, 68, 72, 76, 88, 92, 104, 108, 112, 116)] == [0, 24, 8, 8, 1, 16, 1, 1234, 9, 0]
    assert r.pointed == {
        8: bytes(range(16)),
        16: b"GPL\0",
        80: b"FUNCINFO",
        96: b"LINEINFOlineinfo",
        120: struct.pack("<ii", 3, 4),
    }


def test_test_run_places_each_field(host):
    """prog_fd@0 ... ctx_size_in@40 ctx_in@48 flags@64: answers are read back from the same structure."""

    def run(call: Call) -> int:
        _, address, size = call.args
        a = call.memory(address, size)
        assert [u32(a, at) for at in (0, 8, 12, 32, 40, 44, 64, 68)] == [5, 3, 4, 10, 2, 0, 1, 1]
        assert (call.memory(u64(a, 16), 3), call.memory(u64(a, 48), 2)) == (b"abc", b"xy")
        call.answer(address + 4, struct.pack("<I", 42))
        call.answer(address + 12, struct.pack("<I", 2))
        call.answer(address + 36, struct.pack("<I", 77))
        call.answer(u64(a, 24), b"OUT")
        return 0

    host.on("bpf", run)
    result = bpf_prog.prog_test_run(5, data=b"abc", data_out=4, ctx=b"xy", repeat=10, flags=1, cpu=1)
    assert (result.retval, result.duration_ns, result.data, result.ctx) == (42, 77, b"OU", b"xy")


def test_links_place_each_field(host):
    """prog_fd@0 target_fd@4 attach_type@8 flags@12, then the payload of each kind at 16."""
    r = Recorder(host)
    bpf_link.link_perf_event(3, 4, 0xABCD).close()
    bpf_link.link_tracing(3, 24, 0x1234).close()
    (_, perf), (_, tracing) = r.seen
    assert [u32(perf, at) for at in (0, 4, 8, 12)] == [3, 4, 41, 0]
    assert u64(perf, 16) == 0xABCD
    assert [u32(tracing, at) for at in (0, 4, 8, 12, 16)] == [3, 0, 24, 0, 0]
    assert u64(tracing, 24) == 0x1234


def test_uprobe_multi_places_each_field(host):
    """path@16 offsets@24 ref_ctr_offsets@32 cookies@40 cnt@48 flags@52 pid@56."""
    r = Recorder(host)
    r.follow = {28: ((16, 7), (24, 16), (32, 16), (40, 16))}
    bpf_link.link_uprobe_multi(
        3, "/bin/x", [0x10, 0x20], ref_ctr_offsets=[1, 2], cookies=[5, 6], pid=99, ret=True
    ).close()
    a = r.seen[0][1]
    assert [u32(a, at) for at in (0, 4, 8, 12, 48, 52, 56)] == [3, 0, 48, 0, 2, 1, 99]
    assert r.pointed == {
        16: b"/bin/x\0",
        24: struct.pack("<QQ", 0x10, 0x20),
        32: struct.pack("<QQ", 1, 2),
        40: struct.pack("<QQ", 5, 6),
    }


def test_kprobe_multi_places_each_field(host):
    """flags@16 cnt@20 syms@24 addrs@32 cookies@40; syms is an array of pointers to C strings."""
    names: list[bytes] = []

    def link(call: Call) -> int:
        _, address, size = call.args
        a = call.memory(address, size)
        assert [u32(a, at) for at in (8, 16, 20)] == [56, 0, 2]
        assert u64(a, 32) == 0
        names.extend(call.memory(pointer, 9) for pointer in struct.unpack("<QQ", call.memory(u64(a, 24), 16)))
        assert call.memory(u64(a, 40), 16) == struct.pack("<QQ", 7, 8)
        return 7

    host.on("bpf", link)
    bpf_link.link_kprobe_multi(3, symbols=["vfs_read", "do_exit2"], cookies=[7, 8], session=True).close()
    assert names == [b"vfs_read\0", b"do_exit2\0"]


@pytest.mark.parametrize("bad", [{"cookies": [1]}, {"cookies": [1, 2, 3]}, {"ref_ctr_offsets": [1]}])
def test_arrays_of_unequal_length_never_reach_the_kernel(host, bad):
    """The kernel copies cnt entries of each array."""
    r = Recorder(host)
    with pytest.raises(ValueError, match="for 2 sites"):
        bpf_link.link_uprobe_multi(3, "/bin/x", [1, 2], **bad)
    assert r.seen == []


def test_raw_tracepoint_leaves_the_cookie_off_unless_asked(host):
    """Kernels before 6.10 refuse an attribute that reaches past prog_fd with anything but zeros."""
    r = Recorder(host)
    bpf_link.raw_tracepoint_open(3, "sys_enter").close()
    bpf_link.raw_tracepoint_open(3, "sys_enter", 0x55).close()
    assert [len(a) for _, a in r.seen] == [16, 24]
    assert [u32(a, 8) for _, a in r.seen] == [3, 3]
    assert u64(r.seen[1][1], 16) == 0x55


def test_tracing_links_of_old_kernels_go_through_raw_tracepoint_open(host):
    """5.10 answers EINVAL to BPF_LINK_CREATE: then the raw tracepoint command with no name does it, if no cookie is
    wanted."""
    seen = []

    def old(call: Call) -> int:
        command, address, _ = call.args
        seen.append(command)
        if command == 28:
            raise OSError(errno.EINVAL, "old")
        assert u64(call.memory(address, 16), 0) == 0
        return 9

    host.on("bpf", old)
    bpf_link.link_tracing(3, 24).close()
    assert seen == [28, 17]
    with pytest.raises(KernelError):
        bpf_link.link_tracing(3, 24, cookie=1)


def test_object_ids_walks_and_ends(host):
    """start_id@0 in, next_id@4 out, ENOENT at the end; an id that does not grow ends the walk, too."""
    answers = iter([3, 8, 8])

    def step(call: Call) -> int:
        command, address, _ = call.args
        assert command == 11
        call.answer(address + 4, struct.pack("<I", next(answers)))
        return 0

    host.on("bpf", step)
    assert list(bpf.object_ids("prog")) == [3, 8]


# --- perf_event_attr
# ----------------------------------------------------------------------------------------------------


def test_perf_attr_layout():
    """Every field at the offset that include/uapi/linux/perf_event.h gives it, 136 bytes in all."""
    a = perf_attr.PerfAttr(
        type=1, config=2, period=3, sample_type=4, read_format=5, flags=1 << 37, wakeup=7, bp_type=8, config1=9,
        config2=10, branch_sample_type=11, sample_regs_user=12, sample_stack_user=13, clockid=-1, sample_regs_intr=15,
        sample_max_stack=16, sig_data=17, config3=18,
    ).pack()  # fmt: skip
    assert len(a) == 136
    assert [u32(a, at) for at in (0, 4, 48, 52, 88)] == [1, 136, 7, 8, 13]
    offsets = (8, 16, 24, 32, 40, 56, 64, 72, 80, 96, 120, 128)
    assert [u64(a, at) for at in offsets] == [2, 3, 4, 5, 1 << 37, 9, 10, 11, 12, 15, 17, 18]
    assert struct.unpack_from("<i", a, 92)[0] == -1
    assert struct.unpack_from("<H", a, 108)[0] == 16
    assert a[110:120] == bytes(10)


class OldPerf:
    """A kernel whose perf_event_attr has ``size`` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken: list[bytes] = []

    def __call__(self, call: Call) -> int:
        address = call.args[0]
        given = u32(call.memory(address, 8), 4)
        if given > self.size:
            call.answer(address + 4, struct.pack("<I", self.size))
            raise OSError(errno.E2BIG, "too big")
        self.taken.append(call.memory(address, given))
        return 5


def test_an_old_kernel_gets_the_size_that_it_knows(host):
    """E2BIG carries the kernel's own size: the attribute is cut to it, since nothing past it is used."""
    old = OldPerf(112)
    host.on("perf_event_open", old)
    perf_event.perf_event_open(perf_attr.software_attr(0, frequency=99), cpu=0).close()
    assert [len(a) for a in old.taken] == [112]
    assert u32(old.taken[0], 4) == 112
    assert u64(old.taken[0], 40) == 1 << 10  # freq


def test_a_field_that_an_old_kernel_does_not_know_is_unsupported(host):
    """sig_data lies past 112 bytes: cutting it off would silently ask for something else."""
    host.on("perf_event_open", OldPerf(112))
    with pytest.raises(Unsupported):
        perf_event.perf_event_open(perf_attr.PerfAttr(1, sig_data=5), pid=0)


def test_text1_becomes_an_address(host):
    """A uprobe's file name is passed by pointer in config1, its offset in config2, its semaphore high up in config."""
    host.files["/sys/bus/event_source/devices/uprobe/type"] = b"8\n"
    host.files["/sys/bus/event_source/devices/uprobe/format/retprobe"] = b"config:0\n"
    seen = []

    def opened(call: Call) -> int:
        a = call.memory(call.args[0], 136)
        seen.append((u32(a, 0), u64(a, 8), call.memory(u64(a, 56), 8), u64(a, 64), call.args[1:]))
        return 5

    host.on("perf_event_open", opened)
    attr = perf_attr.uprobe_attr("/bin/ab", 0x1234, ret=True, ref_ctr=0x44)
    perf_event.perf_event_open(attr, pid=-1, cpu=0).close()
    assert seen == [(8, 1 | 0x44 << 32, b"/bin/ab\0", 0x1234, (-1, 0, -1, 8))]


def test_a_missing_pmu_says_what_the_kernel_lacks(host):
    """No file in sysfs: Unsupported, naming the build option."""
    with pytest.raises(Unsupported) as e:
        perf_attr.kprobe_attr("vfs_read")
    assert any("CONFIG_KPROBE" in hint for hint in e.value.hints)
