"""The library's front door, as a caller's program uses it."""

from __future__ import annotations

import doctest
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import leftovers
import numpy as np
import pytest
from collect_programs import many, work
from collect_run import Waiting, environment

import probescope
from probescope import api, live
from probescope.errors import ProbeError, ProbescopeError, ScriptError, UsageError
from probescope.kernel.fds import forget_fds
from probescope.model.output import Attached, Batch, Ended, Lost, MapOut, StackOut, Text, ValueOut

GETPGID = "tracepoint:syscalls:sys_enter_getpgid /pid == cpid/"


@pytest.mark.parametrize("module", [api, live], ids=lambda m: m.__name__)
def test_api_examples(module: object) -> None:
    """The examples in docstrings are run, and print what they say."""
    found = doctest.testmod(module, extraglobs={"probescope": probescope}, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0


def test_api_page_of_the_documentation(repo: Path) -> None:
    """The examples in docs/library.md."""
    found = doctest.testfile(str(repo / "docs" / "library.md"), module_relative=False)
    assert found.attempted > 10
    assert found.failed == 0


def test_api_outputs_one_by_one() -> None:
    """Everything that the command would print comes as a value, finished, in order."""
    program = f'BEGIN {{ print((1, "x")); }} {GETPGID} {{ printf("%d\\n", args.pid); }} END {{ @m[comm] = 1; }}'
    with probescope.run(program, command=f"{work()} getpgid 3") as session:
        assert session.probes == 3
        outputs = list(session)
    assert [type(o) for o in outputs] == [Attached, ValueOut, Text, Text, Text, MapOut, Ended]
    assert outputs[1].value == (1, "x")
    assert [o.values for o in outputs if isinstance(o, Text)] == [(0,), (1,), (2,)]
    assert outputs[-1] == Ended(0, "child")
    assert session.exit_code == 0
    assert not session.running


def test_api_batches_are_columns() -> None:
    """A stream as numpy columns: integers by their C types, texts, truths; the same events as one by one."""
    program = f"{GETPGID} {{ print((nr=args.pid, half=(uint8)(args.pid / 2), name=comm, odd=args.pid % 2 == 1)); }}"
    with probescope.run(program, command=f"{work()} getpgid 5000") as session:
        batches = list(session.batches())
    assert sum(map(len, batches)) == 5000
    columns = {name: np.concatenate([b.columns[name] for b in batches]) for name in batches[0].columns}
    assert columns["nr"].tolist() == list(range(5000))
    assert columns["nr"].dtype == np.int32
    assert columns["half"].tolist() == [i // 2 % 256 for i in range(5000)]
    assert columns["half"].dtype == np.uint8
    assert set(columns["name"].tolist()) == {"work"}
    assert columns["odd"].tolist() == [i % 2 == 1 for i in range(5000)]


def test_api_batches_of_texts_buffers_and_stacks() -> None:
    """Values of any length and opaque ones, named after what was printed; several statements side by side."""
    program = f"""uprobe:{work()}:text {{
        printf("%s %r %d", str(arg0), buf(arg0, 3), pid); print(usym(arg0)); print(ustack(1));
    }}"""
    with probescope.run(program, command=f"{work()} text 6") as session:
        batches = list(session.batches())
    words = ["alpha", "beta", "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"] * 2
    printed = [b for b in batches if b.kind == "printf"]
    names = list(printed[0].columns)
    assert [t for b in printed for t in b.columns[names[0]].tolist()] == words
    assert [t for b in printed for t in b.columns[names[1]].tolist()] == [w[:3].encode() for w in words]
    assert names[2] == "pid"
    stacks = [s for b in batches if b.kind == "print" for c in b.columns.values() for s in c if isinstance(s, StackOut)]
    assert [s.frames[0].symbol for s in stacks] == ["text"] * 6


def test_api_batches_with_other_actions_between() -> None:
    """Actions that are no rows (exit, clear) are done in their place: nothing after exit() is delivered."""
    program = f"{GETPGID} {{ print(args.pid); if (args.pid == 7) {{ exit(4); }} }}"
    with probescope.run(program, command=f"{work()} getpgid 1000") as session:
        rows = [v for b in session.batches() for v in next(iter(b.columns.values())).tolist()]
    assert rows == list(range(8))
    assert session.exit_code == 4


def test_api_batches_received_and_lost_are_all() -> None:
    """Through a tiny ring: rows received + events lost = events that happened."""
    calls = 100_000
    program = "config = { perf_rb_pages = 1 } tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { print(nsecs); }"
    with probescope.run(program, command=f"{work()} getppid {calls}") as session:
        received = sum(len(b) for b in session.batches())
    assert received + session.lost.get("ring_full", 0) == calls
    assert received > 0


def test_api_batches_need_a_stream() -> None:
    """A program that runs in user space alone has none: an error that says so."""
    with probescope.run("BEGIN { print(1); }") as session, pytest.raises(UsageError, match="nothing of this program"):
        next(session.batches())


def test_api_maps_while_running_and_after() -> None:
    """Maps can be read at any time; after the end they hold what they held then, also those that END did not print."""
    program = (
        f"config = {{ print_maps_on_exit = false }} {GETPGID} "
        '{ @n = count(); @by[args.pid % 2 ? "odd" : "even"] = sum(args.pid); @h = hist(args.pid); '
        "@s = stats(args.pid); @last = args.pid; @k[kstack(1)] = count(); }"
    )
    with probescope.run(program, command=f"{work()} getpgid 10") as session:
        session.maps["@n"]  # whatever it is by now
        for _ in session:
            pass
        with pytest.raises(UsageError, match="no map @nope"):
            session.map_output("nope")
    maps = session.maps
    assert maps["@n"] == 10
    assert maps["@by"] == {"even": 20, "odd": 25}
    assert maps["@h"] == {(0, 1): 1, (1, 2): 1, (2, 4): 2, (4, 8): 4, (8, 16): 2}
    assert maps["@s"] == {"count": 10, "average": 4, "total": 45}
    assert maps["@last"] == 9
    assert sum(maps["@k"].values()) == 10
    assert all(isinstance(k, StackOut) for k in maps["@k"])


def test_api_map_columns() -> None:
    """Maps as columns: keys item by item, histograms a row for each bucket."""
    program = f"""{GETPGID} {{
        @[args.pid % 3, comm] = count(); @h[args.pid % 2] = lhist(args.pid, 0, 4, 2); @s[1] = stats(args.pid);
    }}"""
    with probescope.run(program, command=f"{work()} getpgid 9") as session:
        session.wait(30)
    c = session.columns("@")
    assert sorted(c["key0"].tolist()) == [0, 1, 2]
    assert c["key1"].tolist() == ["work"] * 3
    assert c["value"].dtype == np.int64
    h = session.columns("@h")
    rows = sorted(zip(*(h[n].tolist() for n in ("key", "low", "high", "count")), strict=True))
    top = (1 << 63) - 1
    assert rows == [(0, 0, 2, 1), (0, 2, 4, 1), (0, 4, top, 3), (1, 0, 2, 1), (1, 2, 4, 1), (1, 4, top, 2)]
    assert {n: v.tolist() for n, v in session.columns("@s").items()} == {
        "key": [1],
        "count": [9],
        "average": [4],
        "total": [36],
    }


def test_api_leaving_the_block_cleans_up() -> None:
    """By its end, by an exception, by break: programs, maps, links and descriptors go."""
    program = f"""
        uprobe:{work()}:text {{ printf("x"); @ = count(); }}
        tracepoint:sched:sched_switch {{ @k[kstack] = count(); }}"""
    probescope.run(program).stop()  # what is remembered of the machine, the kernel's types, stays open
    gc.collect()
    before, fds = leftovers.snapshot(), len(os.listdir("/proc/self/fd"))
    with probescope.run(program) as session:
        session.wait(0.05)
    with pytest.raises(ZeroDivisionError), probescope.run(program):
        raise ZeroDivisionError
    for _ in range(2):
        with probescope.run(program) as session:
            for _ in session:
                break
    assert leftovers.remaining(before, alone=False) == []
    gc.collect()  # files that were read for their symbols belong to objects that refer to each other
    assert len(os.listdir("/proc/self/fd")) == fds


def test_api_errors() -> None:
    """What is wrong is told by a typed error with hints, before anything is in the kernel."""
    with pytest.raises(ScriptError) as script:
        probescope.run("BEGIN { printff(1); }")
    assert script.value.diagnostics[0].span.line == 1
    assert "printf" in str(script.value.diagnostics[0].hints)
    with pytest.raises(ProbescopeError):
        probescope.run("tracepoint:no:such { @ = 1; }")
    with pytest.raises(UsageError):
        probescope.run("BEGIN { }", command="/no/such/program")
    with pytest.raises(UsageError):
        probescope.run("BEGIN { }", pid=(1 << 22) - 2)
    assert issubclass(ProbeError, ProbescopeError)


def test_api_in_another_thread() -> None:
    """A session may live in any thread, and be asked to stop from any other; signals stay as they are."""
    before = signal.getsignal(signal.SIGINT)
    session = probescope.run("tracepoint:raw_syscalls:sys_enter { @ = count(); }")
    found: list[object] = []

    def consume() -> None:
        with session:
            found.extend(session)

    started = threading.Thread(target=consume)
    started.start()
    session.ask_stop()
    started.join(30)
    assert not started.is_alive()
    assert isinstance(found[-1], Ended)
    assert signal.getsignal(signal.SIGINT) is before

    def whole() -> None:
        with probescope.run('interval:ms:5 { printf("%d", ++@n); if (@n == 3) { exit(); } }') as other:
            found[:] = list(other.texts())

    second = threading.Thread(target=whole)
    second.start()
    second.join(30)
    assert found == ["1", "2", "3"]


def test_api_keyboard_interrupt_is_the_callers() -> None:
    """Ctrl-C raises KeyboardInterrupt in the caller's loop, as in any Python program; leaving the block tidies up."""
    code = (
        "import probescope, sys\n"
        "try:\n"
        "    with probescope.run('tracepoint:raw_syscalls:sys_enter { @ = count(); }') as s:\n"
        "        print('ready', flush=True)\n"
        "        s.wait(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('mine')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment())
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=300)
    assert out == "mine\n"
    assert child.returncode == 0


def test_api_wait_and_poll_keep_time() -> None:
    """``poll`` gives what there is at once, and waits no longer than asked; ``wait`` lets the session run so long."""
    with probescope.run('tracepoint:sched:sched_process_exit /comm == "nobody"/ { printf("x"); }') as session:
        assert [type(o) for o in session.poll(10)] == [Attached]
        start = time.monotonic()
        assert session.poll(0.1) == []
        assert 0.09 < time.monotonic() - start < 5
        start = time.monotonic()
        session.wait(0.2)
        assert 0.19 < time.monotonic() - start < 5


def test_api_many_sessions_one_after_another() -> None:
    """Fifty sessions in one process: no descriptor and no memory stays."""
    program = "tracepoint:syscalls:sys_enter_getppid { @ = count(); }"
    probescope.run(program).stop()
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with probescope.run(program) as session:
            session.poll(0)
    assert len(os.listdir("/proc/self/fd")) == fds


def test_api_traces_this_very_process() -> None:
    """pid=os.getpid(): a program watches itself."""
    with probescope.run("tracepoint:syscalls:sys_enter_getppid { @ = count(); }", pid=os.getpid()) as session:
        for _ in range(25):
            os.getppid()
    assert session.maps["@"] == 25


def test_api_lost_is_counted() -> None:
    """``lost`` sums up by kind what ``Lost`` outputs told."""
    path = many(100)
    program = f"config = {{ max_map_keys = 10 }} uprobe:{path}:f* {{ @[func] = count(); }}"
    with probescope.run(program, command=path) as session:
        outputs = list(session)
    told = [o for o in outputs if isinstance(o, Lost)]
    assert session.lost == {"map_full": sum(o.count for o in told)}
    assert session.lost["map_full"] >= 90
    assert session.losses["map_full"].count == session.lost["map_full"]
    assert "max_map_keys" in session.losses["map_full"].hint


def test_api_waiting_target_ends_the_session() -> None:
    """pid=: the end of that process ends the iteration."""
    with Waiting(work(), "getpgid", "5") as target:
        with probescope.run("tracepoint:syscalls:sys_enter_getpgid { print(args.pid); }", pid=target.pid) as session:
            target.go()
            rows = [v for b in session.batches(30) for v in next(iter(b.columns.values())).tolist()]
        assert rows == [0, 1, 2, 3, 4]


def test_api_batch_is_an_output() -> None:
    """``len`` of a batch is its number of events."""
    assert len(Batch(0, "print", 3, {"a": np.arange(3)})) == 3


COUNTS = "tracepoint:syscalls:sys_enter_getppid /pid == {pid}/ {{ @ = count(); }}"


def _kernel_objects() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return [link for link in found if "bpf" in link or "perf" in link]


def test_api_stop_from_another_thread() -> None:
    """Whoever iterates comes to the end, and the one who stops gets the exit code when all is over."""
    with probescope.run("tracepoint:sched:sched_switch { @ = count(); } end { exit(3); }") as session:
        codes: list[int] = []
        stopper = threading.Thread(target=lambda: codes.append(session.stop()))
        stopper.start()
        kinds = [type(output).__name__ for output in session]
        stopper.join(20)
    assert codes == [session.exit_code]
    assert kinds[-1] == "Ended"
    assert not _kernel_objects()


def test_api_a_forked_child_disturbs_nothing() -> None:
    """What a child of fork() does with its copy (multiprocessing, a ``with`` block that it leaves) neither stops the
    counting nor ends the command."""
    with probescope.run(COUNTS.format(pid=os.getpid()), command="sleep 1000") as session:
        child = os.fork()
        if child == 0:
            ended = not session.running and session.stop() == 0 and len(session.poll(9)) == 1  # it attached
            session.__exit__(None, None, None)
            session.__exit__(KeyError, KeyError("x"), None)
            try:
                session.maps  # noqa: B018
            except UsageError as e:
                ended = ended and "belongs to the process that started it" in str(e)
            os._exit(0 if ended else 1)
        assert os.waitpid(child, 0)[1] == 0
        for _ in range(5):
            os.getppid()
        assert session.maps["@"] == 5
        assert session.running
        session.wait(0.05)
        assert session.running


def test_api_an_exception_leaves_the_maps() -> None:
    """Left by an error of the block's own, a session has read its maps; by Ctrl-C, it says that it has not."""
    program = COUNTS.format(pid=os.getpid())
    with pytest.raises(ZeroDivisionError), probescope.run(program) as session:
        _ = os.getppid() // 0
    assert session.maps["@"] == 1
    with pytest.raises(KeyboardInterrupt), probescope.run(program) as session:
        raise KeyboardInterrupt
    with pytest.raises(UsageError, match="@ was not read before the session ended"):
        session.maps  # noqa: B018
    assert not _kernel_objects()


def test_api_sessions_that_are_forgotten() -> None:
    """Neither a session that nobody keeps nor a generator that nobody finishes leaves anything in the kernel."""
    probescope.run("tracepoint:sched:sched_switch { @[ustack(2)] = count(); }")

    def outputs() -> Iterator[object]:
        with probescope.run("tracepoint:sched:sched_switch { @ = count(); }") as session:
            yield from session

    stream = outputs()
    next(stream)
    del stream
    gc.collect()
    assert not _kernel_objects()
    forget_fds()


def test_api_arguments() -> None:
    """Numbers are parameters too; a way that does not exist is refused, not ignored; for ever is a time to wait."""
    with probescope.run('begin { printf("%d\\n", $1 + $2); exit(); }', parameters=[40, "2"]) as session:
        assert list(session.texts()) == ["42\n"]
    with pytest.raises(UsageError, match="no such way"):
        probescope.run("begin { exit(); }", via="dtrace")  # type: ignore[arg-type]
    with probescope.run("interval:ms:1 { exit(); }") as session:
        session.wait(float("inf"))
    with probescope.run("interval:ms:1 { exit(); }") as session:
        assert session.poll(float("inf"))
