"""Probe definitions in the kernel, by BTF and registers: values as /proc tells them, events that are kept, what is
refused and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from probescope.cli.main import main

TRACING = Path("/sys/kernel/tracing")
BY_NAME = "vfs_read file->f_path.dentry->d_name.name:string count:u"
DENTRY = {"6.1": 24, "6.12": 72}
"""Where f_path.dentry is in struct file, by ``bpftool btf dump`` of each kernel; d_name.name is at 40 in both."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def by_registers(vm_kernel: str) -> str:
    return f"vfs_read name=+0(+40(+{DENTRY[vm_kernel]}(%di))):string"


def run(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    assert main(["probe", *argv]) == code
    told = capsys.readouterr()
    return told.out, told.err


def test_members_and_returns(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects chains of pointers through the kernel's structs, and returns of the same call: what cat reads, and how
    much."""
    size = len(Path("/proc/sys/kernel/osrelease").read_bytes())
    wanted = (BY_NAME, "got=vfs_read%return $retval:s64")
    out, _ = run(capsys, "-q", "-f", "json", *wanted, "--", "cat", "/proc/sys/kernel/osrelease")
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    reads = [i for i, e in enumerate(events) if e["args"].get("name") == "osrelease"]
    assert reads
    returned = [e["args"]["arg1"] for e in events[reads[0] :] if e["event"] == "probe:got"]
    assert returned[0] == size
    assert all(e["comm"] in ("cat", "python", "python3", "probescope") for e in events)


def test_registers_and_filters(capsys: pytest.CaptureFixture[str], by_registers: str) -> None:
    """Protects the definition that needs no types at all."""
    out, _ = run(
        capsys, "-q", by_registers, "--filter", 'name == "osrelease"', "--", "cat", "/proc/sys/kernel/osrelease"
    )
    lines = [line for line in out.splitlines() if "probe:vfs_read: (" in line]
    assert lines
    assert all(line.endswith('name="osrelease"') for line in lines)


def test_variables_by_btf(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "-V", "tcp_sendmsg")
    assert out.splitlines()[1:] == [
        "\t@<tcp_sendmsg+0>", "\t\tsize_t\tsize", "\t\tstruct msghdr*\tmsg", "\t\tstruct sock*\tsk"
    ]  # fmt: skip
    out, _ = run(capsys, "-D", "tcp_sendmsg size dest=sk->__sk_common.skc_daddr:u32")
    assert out == "p:probe/tcp_sendmsg tcp_sendmsg+0 size=%dx:x64 dest=+0(%di):u32\n"


def test_kept_events(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "-q", "--add", "psc_test:one=" + BY_NAME)
    try:
        assert "p:psc_test/one" in (TRACING / "kprobe_events").read_text()
        out, _ = run(capsys, "-l", "psc_test:*")
        assert out == "  psc_test:one         (on vfs_read with name count_u)\n"
    finally:
        run(capsys, "-q", "-d", "psc_test:*")
    assert "psc_test" not in (TRACING / "kprobe_events").read_text()


def test_recording_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path, by_registers: str) -> None:
    """Protects definitions that are remembered: nothing of them is in tracefs but while they are recorded."""
    data = str(tmp_path / "perf.data")
    run(capsys, "-q", by_registers, "--", "true")
    assert "vfs_read" not in (TRACING / "kprobe_events").read_text()
    what = ["-e", "probe:vfs_read", "--filter", 'name == "osrelease"', "--", "cat", "/proc/sys/kernel/osrelease"]
    command = [sys.executable, "-m", "probescope"]  # processes of their own: the event is there until they end
    subprocess.run([*command, "record", "-q", "-o", data, *what], check=True, timeout=300)
    done = subprocess.run([*command, "script", "-i", data], capture_output=True, text=True, check=True, timeout=300)
    assert 'name="osrelease"' in done.stdout
    assert "vfs_read" not in (TRACING / "kprobe_events").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vfs_read nosuch", "its parameters are file, buf, count, pos"),
        ("vfs_reed", "did you mean vfs_read?"),
        ("do_int3", "the kernel forbids probes on do_int3"),
        ("vfs_read:3", "debug information is not here"),
        ("vfs_read+3 count", "count is known only where vfs_read is entered"),
        ("vfs_read file->nosuch", "struct file has no member nosuch"),
        ("vfs_read%return count", "count is gone when the function returns"),
    ],
)
def test_what_cannot_be_had(capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    _, told = run(capsys, "-D", text, code=1)
    assert words in told
