"""Points of Python programs without a tracer: they must never be felt."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import probescope
from probescope import kernel
from probescope.errors import UsageError
from probescope.kernel import libc, point, point_image


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point, "_points", {})
    for name in [n for n in os.environ if n.startswith(point.OFFERS)]:  # of ``span`` in this very process
        monkeypatch.delenv(name)


class Listener:
    """A point whose counters say that somebody listens, and whose code is ours."""

    def __init__(self, listeners: list[int]) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.point = point.Point(
            "parse", (listeners, lambda *words: self.calls.append(words), lambda: self.calls.append(("end",)))
        )


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    made = Listener([1, 1])
    monkeypatch.setattr(point, "_made", lambda _: made.point)
    return made


def test_code_is_called_only_for_listeners() -> None:
    """Protects the price: who listens to the begin alone is told of it alone."""
    for counts, calls in (([0, 0], 0), ([1, 0], 1), ([0, 1], 1), ([2, 3], 2)):
        made = Listener(counts)
        with made.point:
            pass
        assert len(made.calls) == calls


def test_values_become_words(listener: Listener) -> None:
    """Protects what probes read: 64 bits of a number, bytes of a text; no value may raise."""
    with probescope.point("parse", -1, "ü", b"raw", None, 2.9, True, "seventh"):
        pass
    assert listener.calls == [((1 << 64) - 1, "ü".encode(), b"raw", 0, 2, True), ("end",)]
    listener.calls.clear()
    with probescope.point("parse", 1 << 80, float("nan"), float("inf"), [1], "\ud800"):
        pass
    assert listener.calls[0] == (0, 0, 0, b"[1]", b"?", 0)


def test_a_value_whose_text_fails_is_felt_by_nobody_without_listeners() -> None:
    """Protects programs: values are not looked at while nobody listens."""

    class Bad:
        def __str__(self) -> str:
            raise ValueError

    with probescope.point("parse", Bad()):
        pass


def test_decorators(listener: Listener) -> None:
    """Protects functions: name, result, errors; of a coroutine the span is until it has ended."""

    @probescope.point("parse")
    def double(x: int) -> int:
        """Doc."""
        return 2 * x

    @probescope.point("parse", 7)
    async def later(x: int) -> int:
        listener.calls.append(("inside",))
        return x

    assert (double(4), double.__name__, double.__doc__) == (8, "double", "Doc.")
    assert [len(c) for c in listener.calls] == [6, 1]
    listener.calls.clear()
    with ThreadPoolExecutor(1) as apart:  # this thread may have a loop of another test's
        assert apart.submit(lambda: asyncio.run(later(5))).result() == 5
    assert listener.calls == [(7, 0, 0, 0, 0, 0), ("inside",), ("end",)]
    with pytest.raises(TypeError):
        double(None)  # type: ignore[arg-type]
    assert listener.calls[-1] == ("end",)


@pytest.mark.parametrize("name", ["", "two words", "a.b", "1st", "ü", "x" * 101, "a:b"])
def test_names_that_no_probe_could_have(name: str) -> None:
    """Protects against marks that nobody could trace."""
    with pytest.raises(UsageError):
        probescope.point(name)


def test_one_name_is_one_pair() -> None:
    """Protects against a mapping for each use."""
    assert probescope.point("parse") is probescope.point("parse")
    assert probescope.point("parse") is not probescope.point("other")


@pytest.mark.parametrize("where", ["memfd", "ctypes", "machine", "mmap", "many"])
def test_where_there_can_be_no_probes_nothing_happens(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects programs on other machines, in jails, and with thousands of names."""

    def refused(*_: object) -> int:
        raise PermissionError

    if where == "memfd":
        monkeypatch.setattr(os, "memfd_create", refused)
    elif where == "ctypes":
        monkeypatch.delattr(kernel, "libc")
        monkeypatch.setitem(sys.modules, "probescope.kernel.libc", None)
    elif where == "machine":
        monkeypatch.setattr(point_image, "MACHINES", {})
    elif where == "mmap":
        monkeypatch.setattr(libc, "mmap_for_good", refused)
    else:
        monkeypatch.setattr(point, "MOST_NAMES", 0)
    made = probescope.point("parse")
    assert made.listeners == (0, 0)
    with made, probescope.point("parse", 1):
        pass


def test_the_code_runs() -> None:
    """Protects the machine code: called directly, it returns; the counters are zero."""
    made = probescope.point("parse")
    if made.listeners == (0, 0):
        pytest.skip("memory must not be executed here")
    assert list(made.listeners) == [0, 0]
    made.begin([1, "text"])
    made.end()


def test_only_our_own_bytes_are_mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Protects against code of others: what the environment offers is taken if it is what we would have made."""
    page = os.sysconf("SC_PAGE_SIZE")
    made = point_image.image("parse", point_image.MACHINES[os.uname().machine], page)
    monkeypatch.setattr(os, "environ", {})
    assert point._offered("parse", made) == -1
    path = point.offer("parse")
    fd = point._offered("parse", made)
    assert fd >= 0
    os.close(fd)
    other = int(path.rpartition("/")[2])
    os.pwrite(other, b"\xcc", made.begin)
    assert point._offered("parse", made) == -1
    os.close(other)
    for bad in ("/nonexistent", "/", "/dev/null"):
        os.environ[point.OFFERS + "parse"] = bad
        assert point._offered("parse", made) == -1


def test_a_fork_keeps_its_points() -> None:
    """Protects children."""
    made = probescope.point("parse")
    child = os.fork()
    if not child:
        with made:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_importing_the_package_stays_cheap() -> None:
    """Protects start-up: ctypes is imported by the first point, not before."""
    code = "import sys, probescope; assert 'ctypes' not in sys.modules; assert 'probescope.api' not in sys.modules\n"
    code += "probescope.point('x'); assert 'probescope.api' not in sys.modules; assert 'point' in vars(probescope)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_that_begin_at_once_make_a_name_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells one mapping of a file of its listeners, in each process: a second one would stay silent."""
    made: list[str] = []
    second = threading.Event()

    def slowly(name: str) -> point.Point:
        made.append(name)
        second.wait(0.2 if len(made) == 1 else 0)
        return point.Point(name, ((0, 0), lambda *_: None, lambda: None))

    monkeypatch.setattr(point, "_made", slowly)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(probescope.point, ["parse"] * 2))
    assert made == ["parse"]
    assert found[0] is found[1]


def test_a_child_of_a_thread_that_makes_a_point_has_its_own() -> None:
    """A lock that another thread held at the fork would never be free."""
    with point._making, ThreadPoolExecutor(1) as thread:

        def forked() -> int:
            child = os.fork()
            if not child:
                probescope.point("parse")
                os._exit(7)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        assert thread.submit(forked).result(60) == 7
