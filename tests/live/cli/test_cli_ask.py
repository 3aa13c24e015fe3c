"""``probescope ask`` on a recording made now, of work whose answers are known; and its commands on this kernel."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from probescope.cli.main import main
from probescope.views.ask.question import Question, questions
from probescope.views.summaries.kinds import KINDS

EVENTS = (
    "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new,sched:sched_process_fork,sched:sched_process_exec,"
    "sched:sched_process_exit,raw_syscalls:sys_enter,raw_syscalls:sys_exit,irq:softirq_raise,irq:softirq_entry,"
    "irq:softirq_exit,tcp:tcp_probe,net:net_dev_queue"
)
WORK = """
import os, socket, threading, time
inner, outer = os.pipe()
def late():
    time.sleep(0.7)
    os.write(outer, b"x")
t = threading.Thread(target=late); t.start(); os.read(inner, 1); t.join()
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
for _ in range(20):
    client.sendall(b"x" * 1000); peer.recv(1000, socket.MSG_WAITALL)
for _ in range(30):
    try: open("/nonexistent")
    except OSError: pass
with open("/dev/zero", "rb", 0) as f:
    for _ in range(100): f.read(5000)
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("ask") / "perf.data")
    words = ["record", "-a", "-q", "-m", "1024", "-e", EVENTS, "-o", path, "--", sys.executable, "-S", "-c", WORK]
    assert main(words) == 0
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "ask-cache"))


def asked(capsys: pytest.CaptureFixture[str], path: str, name: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["ask", "-q", "-f", "json", "-i", path, "-n", "1000", name]) == code
    return json.loads(capsys.readouterr().out)


def test_files(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, recording, "files")
    zero = [
        r for r in found["evidence"][0]["rows"] if 100 <= r["reads"] <= 102 and 500_000 <= r["read_bytes"] < 500_100
    ]
    assert len(zero) == 1
    assert found["facts"]["failed"] >= 30
    assert any("ENOENT" in (r["errors"] or "") for r in found["evidence"][1]["rows"])


def test_tcp(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    """20 packets of 1000 bytes on loopback, unless the kernel put some together."""
    found = asked(capsys, recording, "tcp")
    assert found["facts"]["size"] == 20 * 1000
    assert 1000 <= found["facts"]["max_size"] <= 20_000


def test_the_slowest_request_waited_for_the_thread_that_slept(
    recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, recording, "wakeups")
    assert found["facts"]["what"] == "read"
    assert found["facts"]["took"] >= 500_000_000
    steps = found["evidence"][0]["rows"]
    assert steps[0]["tid"] == found["facts"]["tid"]
    assert steps[0]["waker_tid"] not in (None, 0, found["facts"]["tid"])


@pytest.mark.parametrize("name", [q.name for q in questions().values() if q.name not in ("iowait", "writeback")])
def test_every_question_as_text(recording: str, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["ask", "-q", "-i", recording, name]) == 0
    text = capsys.readouterr().out
    assert questions()[name].title in text
    assert "an unknown number" not in text


def test_a_list_says_what_can_be_answered(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "-q", "-i", recording]) == 0
    marks = dict(re.findall(r"^(\w+) +(yes|no) ", capsys.readouterr().out, re.MULTILINE))
    assert [n for n, mark in marks.items() if mark == "no"] == ["iowait", "writeback"]
    found = asked(capsys, recording, "iowait", code=1)
    assert found["record"].startswith("probescope record -a -e 'block:*")


@pytest.mark.parametrize("kind", KINDS)
def test_summaries_of_it(recording: str, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert main(["report", f"--{kind}", "-q", "-i", recording, "--time", "0%-100%", "--rows", "3"]) == 0
    assert capsys.readouterr().out.count("\n") > 5


def test_commands_that_are_told_record_on_this_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every event that is named is one here, so that the commands work as they are printed."""
    import shlex

    names = [_events(q) for q in questions().values() if q.record]
    names += [k.record for k in KINDS.values()]
    every = sorted({e for text in names for e in text.split(",")})
    known = Path("/sys/kernel/tracing/events")
    assert all(list(known.glob(e.replace(":", "/"))) for e in every if (known / e.split(":")[0]).exists()), every
    words = shlex.split(questions()["locks"].command)[1:]
    words[words.index("sleep") :] = ["true"]
    assert main([*words[:1], "-q", "-o", str(tmp_path / "perf.data"), *words[1:]]) == 0


def _events(q: Question) -> str:
    import shlex

    words = shlex.split(q.record)
    return words[words.index("-e") + 1]
