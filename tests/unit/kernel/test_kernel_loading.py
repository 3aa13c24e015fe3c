"""Refused programs and maps: retries, logs, the typed error that comes of it."""

from __future__ import annotations

import errno
import struct

import pytest

from probescope.errors import KernelError, PermissionDenied, Unsupported, VerifierError
from probescope.kernel import bpf, bpf_map, bpf_prog
from probescope.kernel.fake import Call, FakeHost, failing
from probescope.kernel.host import use_host

LOG = """func#0 @0
0: R1=ctx(off=0,imm=0) R10=fp0
0: (79) r0 = *(u64 *)(r2 +0)
R2 !read_ok
verification time 41 usec
stack depth 0
processed 1 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""


class Verifier:
    """Refuses with ``number``, and writes ``log`` into buffers of at least ``need`` bytes; a smaller one is ENOSPC."""

    def __init__(self, number: int, log: str, need: int = 0) -> None:
        self.number, self.log, self.need = number, log, need
        self.buffers: list[int] = []

    def __call__(self, call: Call) -> int:
        _, address, size = call.args
        level, length, where = struct.unpack_from("<IIQ", call.memory(address, size), 24)
        self.buffers.append(length)
        if level:
            text = self.log.encode()[: length - 1] + b"\0"
            call.answer(where, text)
            if length < self.need:
                raise OSError(errno.ENOSPC, "log")
        raise OSError(self.number, "refused")


@pytest.fixture
def host():
    with use_host(FakeHost(files={"/proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n"})) as h:
        h.cache["memlock_tried"] = True
        yield h


def load() -> bpf_prog.Load:
    return bpf_prog.Load(2, bytes(8), name="clause_1")


def test_the_first_attempt_has_no_log_and_the_second_has(host):
    """A log costs time on every load: it is asked for only after a refusal."""
    v = Verifier(errno.EACCES, LOG)
    host.on("bpf", v)
    with pytest.raises(VerifierError) as e:
        bpf_prog.prog_load(load())
    assert v.buffers == [0, 65536]
    assert e.value.reason == "R2 !read_ok"
    assert e.value.log == LOG
    assert e.value.where == "clause_1"
    assert e.value.errno_name == "EACCES"


def test_the_log_buffer_grows_until_the_log_fits(host):
    """ENOSPC means a truncated log, whose last line would be a lie."""
    v = Verifier(errno.EINVAL, "x" * 300_000 + "\nthe reason\n", need=300_020)
    host.on("bpf", v)
    with pytest.raises(VerifierError) as e:
        bpf_prog.prog_load(load())
    assert v.buffers == [0, 1 << 16, 1 << 18, 1 << 20]
    assert e.value.reason == "the reason"


def test_the_log_buffer_has_a_bound(host):
    """A log without end: what the largest buffer holds is used, and the loop ends."""
    v = Verifier(errno.EINVAL, "first words\n", need=1 << 40)
    host.on("bpf", v)
    with pytest.raises(VerifierError):
        bpf_prog.prog_load(load())
    assert v.buffers[-1] == bpf_prog.LOG_MOST


def test_no_words_and_no_permission(host):
    """EPERM with an empty log is not the verifier speaking."""
    host.on("bpf", Verifier(errno.EPERM, ""))
    with pytest.raises(PermissionDenied):
        bpf_prog.prog_load(load())


def test_a_passing_trouble_is_retried(host):
    """A pending signal makes the verifier say EAGAIN; the load must succeed all the same."""
    answers = [errno.EAGAIN, errno.EINTR]

    def busy(_: Call) -> int:
        if answers:
            raise OSError(answers.pop(), "signal")
        return 11

    host.on("bpf", busy)
    with bpf_prog.prog_load(load()) as p:
        assert p.fileno() == 11


def test_eternal_eagain_ends(host):
    """Retries are bounded."""
    host.on("bpf", failing(errno.EAGAIN))
    with pytest.raises(KernelError):
        bpf_map.map_create(1, 4, 4, 1)
    assert len(host.calls) == 11


def test_memlock_is_raised_once_and_only_after_eperm(host, monkeypatch):
    """A kernel before 5.11 refuses maps past RLIMIT_MEMLOCK; that setrlimit fails must not matter."""
    import resource

    asked = []

    def setrlimit(which: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        if limits[0] == resource.RLIM_INFINITY:
            raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (65536, 131072))
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    host.cache.pop("memlock_tried")
    tries = []

    def old(_: Call) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError(errno.EPERM, "memlock")
        return 5

    host.on("bpf", old)
    bpf_map.map_create(1, 4, 4, 1).close()
    assert asked == [(resource.RLIM_INFINITY, resource.RLIM_INFINITY), (131072, 131072)]
    host.on("bpf", failing(errno.EPERM))
    with pytest.raises(PermissionDenied):
        bpf_map.map_create(1, 4, 4, 1)
    assert len(asked) == 2


def test_memlock_is_left_alone_without_need(host, monkeypatch):
    """Root takes nothing more than it needs."""
    import resource

    monkeypatch.setattr(resource, "setrlimit", lambda *_: pytest.fail("not asked for"))
    host.cache.pop("memlock_tried")
    host.on("bpf", lambda _: 5)
    bpf_map.map_create(1, 4, 4, 1).close()
    host.on("bpf", failing(errno.EINVAL))
    with pytest.raises(KernelError):
        bpf_map.map_create(1, 4, 4, 1)


def test_a_kernel_without_bpf(host):
    """ENOSYS: Unsupported, naming the option."""
    host.on("bpf", failing(errno.ENOSYS))
    with pytest.raises(Unsupported) as e:
        bpf_map.map_create(1, 4, 4, 1)
    assert "CONFIG_BPF_SYSCALL" in e.value.hints[0]


def test_batches_fall_back_to_keys(host):
    """A map type without batches is read key by key: the same entries come out."""
    content = {b"a---": b"1.......", b"b---": b"2......."}
    order = sorted(content)

    def old(call: Call) -> int:
        command, address, size = call.args
        if command == 0:
            return 7
        if command in {24, 25}:
            raise OSError(524, "ENOTSUPP")
        a = call.memory(address, size)
        key_at, value_at = struct.unpack_from("<QQ", a, 8)
        key = call.memory(key_at, 4) if key_at else None
        if command == 4:
            position = 0 if key is None else order.index(key) + 1
            if position >= len(order):
                raise OSError(errno.ENOENT, "end")
            call.answer(value_at, order[position])
        elif command == 1:
            call.answer(value_at, content[key])
        elif command == 3:
            content.pop(key)
        return 0

    host.on("bpf", old)
    with bpf_map.map_create(1, 4, 8, 10) as m:
        assert dict(iter(m.dump())) == {b"a---": b"1.......", b"b---": b"2......."}
        assert m.dump(delete=True).count == 2
        assert content == {}


def test_a_crowded_bucket_makes_the_batch_grow(host):
    """ENOSPC: one bucket of the hash has more entries than the buffer: it doubles, and nothing is read twice."""
    sizes = []

    def crowded(call: Call) -> int:
        command, address, size = call.args
        if command == 0:
            return 7
        count = struct.unpack_from("<I", call.memory(address, size), 32)[0]
        sizes.append(count)
        call.answer(address + 32, struct.pack("<I", 0 if count < 8 else 3))
        raise OSError(errno.ENOSPC if count < 8 else errno.ENOENT, "")

    host.on("bpf", crowded)
    with bpf_map.map_create(1, 4, 8, 2) as m:
        assert m.dump().count == 3
    assert sizes == [2, 4, 8]


def test_btf_errors_carry_the_complaint(host):
    """The log of BPF_BTF_LOAD ends up in the error's place."""

    def refuse(call: Call) -> int:
        _, address, size = call.args
        where = struct.unpack_from("<Q", call.memory(address, size), 8)[0]
        if where:
            call.answer(where, b"magic: 0xeb9f\nInvalid type_off\n\0")
        raise OSError(errno.EINVAL, "bad")

    host.on("bpf", refuse)
    with pytest.raises(KernelError) as e:
        bpf.btf_load(b"nonsense")
    assert e.value.where == "BTF: Invalid type_off"


TOO_LARGE = "BPF program is too large. Processed 1000001 insn"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("processed 0 insns\n", ""),
        ("unknown func bpf_loop#181\nprocessed 2 insns (limit 1000000)\n", "unknown func bpf_loop#181"),
        (f"{TOO_LARGE}\nprocessed 1000001 insns\n", TOO_LARGE),
    ],
)
def test_last_words(log, words):
    """Statistics at the end of a log are not the reason."""
    assert bpf_prog.last_words(log) == words
