"""Three-valued answers: what an errno means, what is remembered, what a verifier's words decide."""

from __future__ import annotations

import errno
import struct

import pytest

from probescope.errors import InternalError
from probescope.kernel import features
from probescope.kernel.fake import Call, FakeHost, failing
from probescope.kernel.features import btf_ids
from probescope.kernel.features.answer import No
from probescope.kernel.features.table import FEATURES
from probescope.kernel.host import use_host

ROOT = {"/proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n"}
USER = {"/proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\n"}


@pytest.fixture
def host():
    with use_host(FakeHost(ROOT)) as h:
        h.cache["memlock_tried"] = True
        yield h


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.EINVAL, "no"),
        (errno.EOPNOTSUPP, "no"),
        (524, "no"),
        (errno.EPERM, "no"),
        (errno.ENOMEM, "unknown"),
        (errno.EMFILE, "unknown"),
        (errno.EAGAIN, "unknown"),
        (errno.EROFS, "unknown"),
    ],
)
def test_what_a_refusal_means_to_one_who_may(host, number, word):
    """With all capabilities EPERM is an answer; a lack of memory or descriptors never is."""
    host.on("bpf", failing(number))
    answer = features.probe("map:ringbuf")
    assert (answer.word, answer.errno) == (word, number)
    assert answer.reason


def test_eperm_without_capabilities_is_unknown():
    """Unknown never means no: as root it may be there."""
    with use_host(FakeHost(USER)) as h:
        h.cache["memlock_tried"] = True
        h.on("bpf", failing(errno.EPERM))
        assert features.have("map:ringbuf") is None
        assert features.state("map:ringbuf") == "unknown"
        assert not features.features(["map:ringbuf"]).yes


def test_answers_are_remembered_but_unknown_is_not(host):
    host.on("bpf", failing(errno.ENOMEM))
    assert features.have("map:hash") is None
    host.on("bpf", lambda _: 9)
    assert features.have("map:hash") is True
    host.on("bpf", failing(errno.EINVAL))
    assert features.have("map:hash") is True
    assert features.have("map:array") is False


def test_nothing_is_left_open(host):
    """Every descriptor that an attempt gets is given back."""
    numbers = iter(range(100, 10_000))
    opened = []

    def give(_: Call) -> int:
        opened.append(next(numbers))
        return opened[-1]

    host.on("bpf", give)
    for name in ("map:hash_of_maps", "map:task_storage", "prog:kprobe", "isa:v4", "isa:callbacks", "map:hash"):
        assert features.have(name) is True, features.probe(name)
    assert sorted(host.closed) == opened


def verifier(says: dict[int, str]):
    """Refuses programs of the types in ``says`` with these words; takes all others."""

    def answer(call: Call) -> int:
        _, address, size = call.args
        kind, _, _, _, level, length, log = struct.unpack_from("<IIQQIIQ", call.memory(address, size))
        if kind not in says:
            return 9
        if level:
            call.answer(log, says[kind].encode()[: length - 1] + b"\0")
        raise OSError(errno.EINVAL, "refused")

    return answer


def test_a_complaint_about_arguments_means_that_the_helper_is_there(host):
    host.on("bpf", verifier({2: "R2 type=scalar expected=func"}))
    assert features.have("helper:loop@kprobe") is True


@pytest.mark.parametrize(
    "words",
    ["unknown func bpf_loop#181", "invalid func bpf_loop#181", "program of this type cannot use helper bpf_loop#181"],
)
def test_words_of_three_generations_that_mean_no(host, words):
    """The verifier has said it in three ways since 4.x."""
    host.on("bpf", verifier({2: words}))
    assert features.have("helper:loop@kprobe") is False


def test_a_helper_is_there_if_any_kind_of_tracing_program_may_call_it(host):
    """Without a kind: kprobe refuses, tracepoint takes it."""
    host.on("bpf", verifier({2: "unknown func bpf_x#27"}))
    assert features.have("helper:get_stackid") is True


@pytest.mark.parametrize("name", ["helper:nosuch", "helper:loop@nosuch", "map:nosuch", "isa:v9", "attach:x", "perf:x"])
def test_unknown_names_of_known_kinds_are_no(host, name):
    host.on("bpf", lambda _: 9)
    assert features.have(name) is False


def test_an_unknown_kind_is_a_bug(host):
    with pytest.raises(InternalError):
        features.probe("color:blue")


def test_the_table_is_sound():
    """Names are unique, of known kinds, and each is tried by somebody who knows it."""
    names = [f.name for f in FEATURES]
    assert len(names) == len(set(names))
    with use_host(FakeHost(ROOT)) as h:
        h.cache["memlock_tried"] = True
        h.on("bpf", failing(errno.EINVAL))
        for feature in FEATURES:
            answer = features.probe(feature.name)
            assert not answer.reason.startswith("no such"), answer
            assert feature.purpose, feature
            assert "|" not in feature.purpose + feature.get, feature


def test_every_covers_all_helpers():
    names = {f.name for f in features.every()}
    assert {"helper:map_lookup_elem", "helper:cgrp_storage_delete", "map:ringbuf"} <= names
    assert features.describe("map:ringbuf").since.startswith("5.8")
    assert features.describe("helper:nosuch").purpose == ""


# --- BTF
# -----------------------------------------------------------------------------------------------------------------


def btf(types: bytes, strings: bytes = b"\0int\0pid_t\0go\0") -> bytes:
    return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + strings


TYPES = (
    struct.pack("<IIII", 1, 1 << 24, 4, 32)  # 1: int
    + struct.pack("<III", 5, 8 << 24, 1)  # 2: typedef pid_t
    + struct.pack("<III", 0, 13 << 24 | 1, 0)  # 3: prototype with one parameter
    + struct.pack("<II", 0, 1)
    + struct.pack("<III", 11, 12 << 24, 3)  # 4: function go
)


def test_type_ids_are_counted_from_one():
    index = btf_ids.Index(btf(TYPES))
    assert [index.find(*q) for q in (("pid_t", 8), ("go", 12), ("pid_t", 12), ("nosuch", 12), ("i", 8))] == [
        2,
        4,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("cut", [4, 24, 30, 60])
def test_damaged_btf_is_no_answer_and_no_crash(cut):
    """Cut short: refused; with an unknown kind: what comes before it counts."""
    with pytest.raises((No, struct.error)):
        btf_ids.Index(btf(TYPES)[:cut])
    assert btf_ids.Index(btf(TYPES[:28] + struct.pack("<III", 0, 31 << 24, 0) + TYPES[28:])).find("go", 12) == 0


def test_no_btf_at_all(host):
    host.on("bpf", lambda _: 9)
    answer = features.probe("attach:tp_btf")
    assert answer.yes is False
    assert "no BTF" in answer.reason


def test_a_lent_finder_is_asked(host):
    """debuginfo has an index already; the BTF is not read a second time."""
    asked = []
    host.on("bpf", lambda _: 9)
    features.set_btf_finder(lambda name, kind: asked.append((name, kind)) or 5)
    assert features.have("attach:tp_btf") is True
    assert asked == [("btf_trace_sched_switch", 8)]
