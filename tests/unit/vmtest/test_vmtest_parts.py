"""The parts of vmtest that need no virtual machine."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from vmtest import initramfs, kernels, machine, modules, packages, suite
from vmtest.errors import VmtestError


def module(depends: str) -> bytes:
    return b"\x7fELF...\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0"


@pytest.fixture
def tree(tmp_path) -> Path:
    """A modules folder: b needs a and c, c needs a; d is compressed; e is built in; dashes are in file names only."""
    top = tmp_path / "kernel" / "drivers"
    top.mkdir(parents=True)
    (top / "mod-a.ko").write_bytes(module(""))
    (top / "mod-b.ko").write_bytes(module("mod-a,mod_c"))
    (top / "mod_c.ko").write_bytes(module("mod_a"))
    (top / "mod_d.ko.xz").write_bytes(lzma.compress(module("mod_e")))
    (tmp_path / "modules.builtin").write_text("kernel/drivers/mod-e.ko\n")
    return tmp_path


def test_modules_come_after_what_they_need(tree):
    """insmod refuses a module whose symbols are not there yet: a wrong order is a guest without a root."""
    names = [name for name, _ in modules.ordered(tree, ("mod_b", "mod_d"))]
    assert names == ["mod_a", "mod_c", "mod_b", "mod_d"]


def test_compressed_modules_are_plain_in_the_archive(tree):
    assert dict(modules.ordered(tree, ("mod_d",)))["mod_d"] == module("mod_e")


def test_a_missing_module_is_named(tree):
    with pytest.raises(VmtestError, match="no module mod_z"):
        modules.ordered(tree, ("mod_z",))


def test_archive_is_read_by_cpio(tmp_path):
    """Oracle: busybox's own cpio unpacks what we wrote, byte for byte."""
    if not initramfs.BUSYBOX.exists():
        pytest.skip("needs busybox-static")
    archive = initramfs.Archive()
    archive.add("dir", initramfs.MODE_DIRECTORY)
    archive.add("dir/file", initramfs.MODE_FILE, b"odd")
    archive.add("link", initramfs.MODE_LINK, b"dir/file")
    done = subprocess.run(
        [str(initramfs.BUSYBOX), "cpio", "-idm"], input=archive.finish(), cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dir/file").read_bytes() == b"odd"
    assert (tmp_path / "link").readlink() == Path("dir/file")


def test_a_dynamic_program_is_not_static():
    """A busybox that needs a C library would leave the guest with no init."""
    assert not initramfs.is_static(Path("/bin/sh"))
    assert not initramfs.is_static(Path(__file__))


def test_the_script_of_a_guest_quotes_its_command():
    job = machine.Job(["echo", "a b", "$HOME", "'"], Path("/x y"), environment={"PROBESCOPE_X": "a'b"})
    text = machine.main_script(job)
    lines = text.splitlines()
    assert "cd '/x y' || exit 1" in lines
    (command,) = (line.partition(" </dev/null")[0] for line in lines if " </dev/null" in line)
    (export,) = (line for line in lines if line.startswith("export PROBESCOPE_X="))
    script = f"{export}\nprintf '%s|' {command} \"$PROBESCOPE_X\""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "echo|a b|$HOME|'|a'b|"


def test_bytecode_is_written_in_the_guest(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in machine.main_script(machine.Job(["true"], Path("/")))


@pytest.mark.parametrize(
    ("image", "folder"),
    [("boot/vmlinuz-6.9-x", "lib/modules/6.9-x"), ("usr/lib/modules/6.9-x/vmlinuz", "usr/lib/modules/6.9-x")],
)
def test_both_layouts_of_kernel_packages_are_known(tmp_path, image, folder):
    (tmp_path / folder / "kernel").mkdir(parents=True)
    (tmp_path / image).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / image).touch()
    found = packages.locate(tmp_path)
    assert found is not None
    assert (found.release, found.image, found.modules) == ("6.9-x", tmp_path / image, tmp_path / folder)


def test_no_kernel_in_an_empty_tree(tmp_path):
    assert packages.locate(tmp_path) is None


def test_an_unknown_kernel_is_an_error_with_the_names():
    with pytest.raises(VmtestError, match=r"6\.12"):
        kernels.named("2.4")


@pytest.mark.parametrize(
    ("code", "report", "good", "says"),
    [
        (0, '<testsuites><testsuite tests="3" skipped="1" failures="0" errors="0"/></testsuites>', True, "2 passed"),
        (1, '<testsuites><testsuite tests="3" skipped="0" failures="1" errors="1"/></testsuites>', False, "2 failed"),
        (0, '<testsuites><testsuite tests="2" skipped="2" failures="0" errors="0"/></testsuites>', False, "0 passed"),
        (0, "<testsui", False, "no report"),
        (0, None, False, "no report"),
        (5, None, False, "no tests ran"),
        (machine.TIMED_OUT, None, False, "did not end in time"),
    ],
)
def test_only_a_report_with_passes_is_good(tmp_path, code, report, good, says):
    """Protects against the worst failure of a harness: green without having run anything."""
    path = tmp_path / "junit.xml"
    if report is not None:
        path.write_text(report)
    outcome = suite.read("6.1", code, 1.0, path)
    assert outcome.good is good
    assert says in str(outcome)


class Fake:
    """A process that ends at once, or never."""

    def __init__(self, ended: bool) -> None:
        self._ended = ended

    def wait(self, timeout: float) -> int:
        if not self._ended:
            raise subprocess.TimeoutExpired("qemu", timeout)
        return 0


def test_a_machine_that_ends_without_an_exit_code_is_lost(tmp_path):
    (tmp_path / "console").write_text("Kernel panic - not syncing\n")
    with pytest.raises(machine.MachineLost, match="panic"):
        machine.follow(Fake(ended=True), tmp_path, machine.Job(["true"], tmp_path))


def test_a_machine_that_never_comes_up_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "BOOT_SECONDS", 0.0)
    with pytest.raises(machine.MachineLost, match="not up"):
        machine.follow(Fake(ended=False), tmp_path, machine.Job(["true"], tmp_path))


def test_a_command_that_does_not_end_is_an_outcome_not_a_loss(tmp_path):
    """A lost machine is retried; a test that hangs must not be."""
    (tmp_path / "started").touch()
    assert machine.follow(Fake(ended=False), tmp_path, machine.Job(["x"], tmp_path, timeout=0.0)) == machine.TIMED_OUT


def test_a_lost_machine_is_tried_once_more_and_then_given_up(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PROBESCOPE_VMTEST_CACHE", str(tmp_path))  # a lock of its own: no machine is waited for
    attempts = []

    def lost(*_args):
        attempts.append(1)
        raise machine.MachineLost("gone")

    monkeypatch.setattr(machine.packages, "ensure", lambda _: packages.Unpacked("6.9", Path(), Path()))
    monkeypatch.setattr(machine.initramfs, "build", lambda _: Path())
    monkeypatch.setattr(machine, "boot", lost)
    with pytest.raises(machine.MachineLost):
        machine.run(kernels.KERNELS["6.1"], machine.Job(["true"], Path("/")))
    assert len(attempts) == 2
    assert "was lost, trying once more: gone" in capsys.readouterr().err


def test_command_line_explains_itself():
    done = subprocess.run([sys.executable, "-m", "vmtest", "--help"], capture_output=True, text=True, check=True)
    assert "vmtest run --kernel 6.12 -- uname -r" in done.stdout
