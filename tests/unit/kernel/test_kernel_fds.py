"""Descriptors are closed once, by their owner, on the host that opened them; forgotten ones are named."""

from __future__ import annotations

import errno
import os

import pytest

from probescope.errors import InternalError, LimitError
from probescope.kernel.fake import FakeHost
from probescope.kernel.fds import Fd, close_all, forget_fds, open_fds
from probescope.kernel.host import host, use_host


@pytest.fixture(autouse=True)
def clean():
    forget_fds()
    yield
    forget_fds()


def test_closed_once_and_unusable_afterwards():
    """A second close would close whatever has the number by then."""
    with use_host(FakeHost()) as h:
        fd = Fd(5, "map:x")
        fd.close()
        fd.close()
        assert h.closed == [5]
        with pytest.raises(InternalError, match="map:x"):
            fd.fileno()


def test_detach_gives_the_number_away():
    with use_host(FakeHost()) as h, Fd(6) as fd:
        assert fd.detach() == 6
    assert h.closed == []


def test_the_host_that_opened_it_closes_it():
    """A fake's descriptor number means something else on the real machine."""
    fake = FakeHost()
    with use_host(fake):
        fd = Fd(1)
    fd.close()
    assert fake.closed == [1]
    os.fstat(1)


def test_leaks_are_listed_with_the_place_that_made_them():
    with use_host(FakeHost()):
        kept = Fd(7, "link:kept")
        Fd(8, "prog:closed").close()
        (leak,) = open_fds()
        assert (leak.number, leak.what) == (7, "link:kept")
        assert "test_leaks_are_listed_with_the_place_that_made_them" in str(leak)
        kept.close()
        assert open_fds() == []


def test_a_forgotten_one_is_closed_but_stays_on_the_list():
    """No descriptor outlives its last reference, yet the bug is not hidden."""
    with use_host(FakeHost()) as h:
        Fd(9, "forgotten")
        assert h.closed == [9]
        assert [leak.what for leak in open_fds()] == ["forgotten"]


@pytest.mark.parametrize("threads", [1, 3])
def test_close_all_closes_all(threads):
    with use_host(FakeHost()) as h:
        close_all([Fd(n) for n in range(20, 40)], threads=threads)
    assert sorted(h.closed) == list(range(20, 40))


def test_it_is_an_integer_where_one_is_wanted():
    r, w = os.pipe()
    with Fd(r) as reader, Fd(w) as writer:
        os.write(int(writer.fileno()), b"x")
        assert host().poll([reader.fileno()], 0) == [r]
        assert host().read(reader, 10) == b"x"


def test_files_are_bounded(tmp_path):
    """/proc files have no size: reading stops at the limit."""
    big = tmp_path / "big"
    big.write_bytes(bytes(3 << 20))
    assert len(host().read_bytes(str(big))) == 3 << 20
    with pytest.raises(LimitError):
        host().read_bytes(str(big), limit=1 << 20)


def test_use_host_nests_and_restores_after_an_exception():
    first, second = FakeHost(), FakeHost()
    with use_host(first):
        with pytest.raises(ZeroDivisionError), use_host(second):
            1 / (host() is not second)
        assert host() is first
    assert host() is not first


def test_the_fake_answers_unknown_calls_with_enosys():
    """A test that forgets a handler must not reach the real kernel."""
    with use_host(FakeHost()) as h, pytest.raises(OSError, match="not implemented") as e:
        h.syscall(321, 0, 0, 0)
    assert e.value.errno == errno.ENOSYS


def test_many_are_closed_also_where_no_thread_can_be_made(monkeypatch):
    """``ulimit -u``: then one after the other."""

    def full(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", full)
    fds = [Fd(os.open(os.devnull, os.O_RDONLY)) for _ in range(100)]
    close_all(fds, threads=8)
    assert all(fd.closed for fd in fds)
