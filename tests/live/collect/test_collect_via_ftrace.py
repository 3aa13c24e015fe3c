"""The ftrace collector on this kernel: one process, what it forks, its end, losses, registers, what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import probescope
from probescope.collect.stream.ftrace import FtraceFeed
from probescope.errors import ProbeError
from probescope.frozen import replace
from probescope.kernel import tracefs
from probescope.kernel.features import have
from probescope.kernel.leftovers import PREFIX, leftovers, reap
from probescope.model.plan import MakeInstance, TraceEvent
from tests.support.collect_run import COMMAND, Running, Waiting, environment, run, until
from tests.support.stream_work import NAME, PARENTS, words

LOOP = """
import os, sys
sys.stderr.write(f"ready {os.getpid()}\\n")
sys.stdin.readline()
for _ in range(%d): os.getppid()
"""
FORKS = "import os; os.fork(); os.fork(); [os.getppid() for _ in range(100)]"
GETPPID = "tracepoint:syscalls:sys_enter_getppid"


def loop(count: int) -> Waiting:
    return Waiting(sys.executable, "-I", "-S", "-c", LOOP % count)


def libc() -> str:
    maps = Path("/proc/self/maps").read_text(encoding="ascii").splitlines()
    return next(line.split()[-1] for line in maps if "/libc.so.6" in line)


def ours() -> list[str]:
    """What this machine's tracefs has of this checkout's runs."""
    found = [n for n in os.listdir(f"{tracefs.find_root()}/instances") if n.startswith(PREFIX)]
    return found + [line for line in tracefs.read("dynamic_events").splitlines() if PREFIX in line]


def test_one_process_is_watched_alone():
    """-p takes the events of that process, also while another does the same."""
    with loop(300) as mine, loop(500) as other:
        with probescope.run(f"{GETPPID} {{ @[pid] = count(); }}", via="ftrace", pid=mine.pid) as session:
            other.go()
            mine.go()
            session.wait(5.0)
        assert session.maps["@"] == {mine.pid: 300}


def test_what_is_forked_belongs_to_it_if_asked_for():
    """--follow: four processes of 100 calls each, all of them waited for; without it the first alone is."""
    command = f"{sys.executable} -I -S -c '{FORKS}'"
    program = f"{GETPPID} {{ @ = count(); @who[pid] = count(); }}"
    with probescope.run(program, via="ftrace", command=command, follow=True) as session:
        session.wait(20.0)
    assert session.maps["@"] == 400
    assert sorted(session.maps["@who"].values()) == [100] * 4


def test_times_are_those_of_the_bpf_collector():
    """nsecs is CLOCK_BOOTTIME: what an event has is between the begin and the end of the session by that clock."""
    with loop(10) as mine:
        before = probescope.run("begin { @ = nsecs; exit(); }")
        with before:
            before.wait(5.0)
        program = f"{GETPPID} {{ @lo = min(nsecs); @hi = max(elapsed); }} end {{ @end = nsecs; }}"
        with probescope.run(program, via="ftrace", pid=mine.pid) as session:
            mine.go()
            session.wait(5.0)
    assert before.maps["@"] < session.maps["@lo"] < session.maps["@end"]
    assert 0 < session.maps["@hi"] < session.maps["@end"] - before.maps["@"]


def test_exit_is_at_the_event_that_asks_for_it(tmp_path):
    program = f'{GETPPID} /comm == "{NAME}"/ {{ @ = count(); @n++; if (@n == 17) {{ exit(); }} }}'
    done = run(program, "--via", "ftrace", "-c", words(tmp_path))
    assert "@: 17" in done.lines


def test_what_is_lost_is_told(monkeypatch):
    """Seen and lost events are those that happened."""
    small = MakeInstance("boot", 8)
    init = FtraceFeed.__init__

    def narrow(self, steps, pids):
        init(self, [replace(s, buffer_kb=small.buffer_kb) if isinstance(s, MakeInstance) else s for s in steps], pids)

    monkeypatch.setattr(FtraceFeed, "__init__", narrow)
    count = 100_000
    with loop(count) as work:
        with probescope.run(f"{GETPPID} {{ @ = count(); }}", via="ftrace", pid=work.pid) as session:
            work.go()
            session.wait(20.0)
        seen, lost = session.maps["@"], session.lost.get("lost", 0)
    assert lost > 0
    assert seen + lost == count


def test_arguments_and_results_of_functions(tmp_path):
    """As fetch arguments of uprobe events: the C library's lseek and what it gives."""
    if not have("ftrace:uprobe_events"):
        pytest.skip("this kernel has no uprobe_events")
    where = f'/comm == "{NAME}" && arg2 <= 2/'
    program = f"uprobe:{libc()}:lseek64 {where} {{ @[arg2] = count(); @s = sum(arg1); }}"
    program += f' uretprobe:{libc()}:lseek64 /comm == "{NAME}"/ {{ @r = sum(retval); }}'
    by_ftrace, by_bpf = (run(program, "--via", via, "-c", words(tmp_path)) for via in ("ftrace", "bpf"))
    assert by_ftrace.lines == by_bpf.lines
    assert sum("@[" in line for line in by_ftrace.lines) == 3


def test_one_filter_for_all_clauses_of_an_event(tmp_path):
    """Both predicates' events come, and each clause sees its own."""
    mine = f'comm == "{NAME}"'
    program = f"tracepoint:syscalls:sys_enter_lseek /{mine} && args.offset < 100/ {{ @low = count(); }}"
    program += f" tracepoint:syscalls:sys_enter_lseek /{mine} && args.offset >= 900/ {{ @high = count(); }}"
    program += f' {GETPPID} /strncmp(comm, "{NAME}", 16) == 0/ {{ @unsaid = count(); }}'
    by_ftrace, by_bpf = (run(program, "--via", via, "-c", words(tmp_path)) for via in ("ftrace", "bpf"))
    assert by_ftrace.lines == by_bpf.lines
    assert f"@unsaid: {PARENTS}" in by_ftrace.lines


def test_a_filter_that_the_kernel_does_not_take_is_shown():
    """In the kernel's words, with a caret; and nothing is left of what was set up until then."""
    steps = [MakeInstance("boot", 64), TraceEvent("sched:sched_switch", "prev_prio > 1 && nosuch == 3")]
    feed = FtraceFeed(steps, ())
    with pytest.raises(ProbeError) as e:
        feed.open()
    assert "the filter of sched:sched_switch" in str(e.value)
    assert any("^" in hint for hint in e.value.hints)
    assert not any(item.pid == os.getpid() for item in leftovers())


def test_nothing_is_left_after_a_kill():
    """Neither by a session alone, nor by one whose watchdog died with it, once the next run has begun."""
    if not have("ftrace:uprobe_events"):
        pytest.skip("this kernel has no uprobe_events")
    with Running(f"uprobe:{libc()}:getppid {{ @ = count(); }}", "--via", "ftrace") as session:
        pid = session.process.pid
        assert any(f"{PREFIX}{pid}_" in name for name in ours())
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGKILL)
        session.process.kill()
        session.process.wait()
    reap()
    assert not any(f"{PREFIX}{pid}_" in name for name in ours())


def test_the_watchdog_tidies_up_after_a_kill():
    with Running(f"uprobe:{libc()}:getppid {{ @ = count(); }}", "--via", "ftrace") as session:
        pid = session.process.pid
        session.process.kill()
        session.process.wait()
    until(lambda: not any(f"{PREFIX}{pid}_" in name for name in ours()), "something of it is left")


def apart(script: str) -> subprocess.CompletedProcess[str]:
    """In a mount namespace of its own. ``RUN``: the command."""
    line = ["unshare", "-m", "--propagation", "private", "sh", "-c", script.replace("RUN", " ".join(COMMAND))]
    return subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=300, check=False)


def test_tracefs_goes_away_in_the_middle():
    """What was seen is answered, and that losses are not known is told; the next run tidies up."""
    umount = "umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug 2> /dev/null"
    program = f'{GETPPID} {{ @ = count(); }} interval:ms:300 {{ system(\\"{umount}\\"); exit(); }}'
    done = apart(f'RUN --unsafe --via ftrace -e "{program}"')
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert "how many events were lost is not known" in done.stderr
    assert done.stdout.strip().startswith("@:") or not done.stdout.strip()
    until(lambda: reap() or not [i for i in leftovers() if not i.alive], "something of it is left")


def test_without_tracefs_it_says_what_to_do():
    gone = "for d in $(grep -E 'tracefs|debugfs' /proc/mounts | cut -d ' ' -f 2 | sort -r); do umount -l $d; done;"
    done = apart(f"{gone} RUN --via ftrace -e '{GETPPID} {{ @++ }}'")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "mount" in done.stderr


WITHOUT = "-sys_admin,-bpf,-perfmon"


def without_bpf(program: str, capabilities: str) -> subprocess.CompletedProcess[str]:
    """As user 0, to whom tracefs belongs, but without these capabilities."""
    sets = [f"--{kind}={capabilities}" for kind in ("bounding-set", "inh-caps")]
    line = ["setpriv", *sets, "--", *COMMAND, "-e", program]
    return subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=300, check=False)


@pytest.mark.parametrize(("capabilities", "via"), [(WITHOUT, "ftrace"), ("-sys_admin,-bpf", "perf")])
def test_where_bpf_is_not_permitted_another_collector_answers(capabilities, via):
    """The program is answered all the same, and one line says by what."""
    if via == "perf" and int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii")) > 2:
        via = "ftrace"  # Debian's kernels ask for CAP_SYS_ADMIN then
    program = f'tracepoint:sched:sched_switch /comm != "{NAME}"/ {{ @ = count(); }} interval:ms:300 {{ exit(); }}'
    done = without_bpf(program, capabilities)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if f"--via {via}" in line], done.stderr
    assert int(done.stdout.strip().partition("@: ")[2]) > 0


def test_what_no_other_collector_has_is_refused_as_before():
    done = without_bpf("rawtracepoint:sys_enter { @ = count(); }", WITHOUT)
    assert done.returncode == 1
    assert "bpf(BPF_MAP_CREATE) failed: EPERM" in done.stderr
