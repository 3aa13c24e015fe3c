"""User probes on running programs: what is resolved really fires, and processes are seen as they see themselves."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sources_programs

from probescope.errors import ProbeError
from probescope.kernel.perf_attr import uprobe_attr
from probescope.kernel.perf_event import perf_event_open
from probescope.model.probe import ProbeSpec
from probescope.model.site import Site, UprobeAttach
from probescope.sources import registry
from probescope.sources.context import ResolveContext


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sources_programs.demo(tmp_path_factory.mktemp("demo"))


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    """The program, waiting for input after its first line."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout
            p.stdout.readline()
            yield p
        finally:
            p.kill()


def resolve(spec: ProbeSpec, **ctx: object) -> list[Site]:
    return registry.resolve(spec, ResolveContext(max_probes=100_000, **ctx))  # type: ignore[arg-type]


def hits(sites: list[Site], work: object) -> list[int]:
    """How often each site fires during ``work()``."""
    with contextlib.ExitStack() as stack:
        events = []
        for site in sites:
            a = site.attach
            assert isinstance(a, UprobeAttach)
            attr = uprobe_attr(a.path, a.offset, ret=a.ret, ref_ctr=a.ref_ctr)
            cpus = [-1] if a.pid > 0 else range(os.cpu_count() or 1)
            events.append([stack.enter_context(perf_event_open(attr, pid=a.pid, cpu=cpu)) for cpu in cpus])
            for e in events[-1]:
                e.enable()
        work()  # type: ignore[operator]
        return [sum(e.read_values()[0] for e in group) for group in events]


@pytest.mark.parametrize(("name", "expected"), [("add", 1), ("hidden", 1), ("looped", 1), ("main", 1)])
def test_functions_fire(demo: str, name: str, expected: int) -> None:
    """Protects file offsets against what the kernel makes of them."""
    sites = resolve(ProbeSpec("uprobe", demo, name)) + resolve(ProbeSpec("uretprobe", demo, name))
    assert hits(sites, lambda: subprocess.run([demo], check=True, timeout=300, capture_output=True)) == [expected] * 2


def test_usdt_probes_fire_and_semaphores_are_raised(demo: str) -> None:
    """Protects USDT: one place of `place` runs, and demo:loop runs only because we listen."""
    sites = resolve(ProbeSpec("usdt", demo, "place")) + resolve(ProbeSpec("usdt", demo, "loop", namespace="demo"))
    assert len(sites) == 3
    found = hits(sites, lambda: subprocess.run([demo], check=True, timeout=300, capture_output=True))
    assert found == [1, 0, 1]


def test_the_program_and_libraries_of_a_process(demo: str) -> None:
    """Protects -p: the binary may be left out, and bare names are those of the process."""
    with running(demo, "wait") as p:
        (site,) = resolve(ProbeSpec("uprobe", "", "add"), pid=p.pid)
        assert site.name == f"uprobe:{demo}:add"
        assert site.pid == p.pid
        (libc,) = resolve(ProbeSpec("uprobe", "libc", "malloc"), pid=p.pid)
        mapped = Path(f"/proc/{p.pid}/maps").read_text()
        assert isinstance(libc.attach, UprobeAttach)
        assert os.path.realpath(libc.attach.path) in mapped
        everything = resolve(ProbeSpec("uprobe", "*", "add"), pid=p.pid)
        assert [s.name for s in everything] == [f"uprobe:{demo}:add"]
        usdt = resolve(ProbeSpec("usdt", "", "loop"), pid=p.pid)
        assert [s.name.split(":", 2)[2] for s in usdt] == ["other:loop", "demo:loop"]


def test_a_process_that_is_not_there() -> None:
    """Protects the message for a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(ProbeError, match=f"there is no process {child.pid}"):
        resolve(ProbeSpec("uprobe", "", "main"), pid=child.pid)


def test_a_program_that_was_deleted(demo: str, tmp_path: Path) -> None:
    """Protects processes whose file was replaced by an update: the old file is probed, not the new one."""
    copy = shutil.copy(demo, tmp_path / "victim")
    with running(str(copy), "wait") as p:
        os.unlink(copy)
        (site,) = resolve(ProbeSpec("uprobe", "", "looped"), pid=p.pid)
        assert isinstance(site.attach, UprobeAttach)
        assert site.attach.path == f"/proc/{p.pid}/exe"
        assert p.stdin
        assert p.stdout
        assert hits([site], lambda: feed(p)) == [1]


def feed(p: subprocess.Popen[str]) -> None:
    """One line in, after which the program has called ``looped`` once more before it ends."""
    p.communicate("x\n", timeout=300)


@pytest.fixture
def other_mounts(demo: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program in a mount namespace of its own, under a path that exists only there."""
    inside = tmp_path / "inside"
    inside.mkdir()
    script = f"mount -t tmpfs none {inside} && cp {demo} {inside}/demo && exec {inside}/demo wait"
    with running("unshare", "-m", "sh", "-c", script) as p:
        yield p


def test_a_process_in_another_mount_namespace(other_mounts: subprocess.Popen[str], tmp_path: Path) -> None:
    """Protects containers: paths are those of the process, reached through its root."""
    pid, path = other_mounts.pid, str(tmp_path / "inside" / "demo")
    for target in ("", path, "*"):
        (site,) = resolve(ProbeSpec("uprobe", target, "looped"), pid=pid)
        assert isinstance(site.attach, UprobeAttach)
        assert site.attach.path == f"/proc/{pid}/root{path}"
    assert [s.func for s in resolve(ProbeSpec("usdt", path, "loop", namespace="other"), pid=pid)] == ["loop"]
    assert hits([site], lambda: feed(other_mounts)) == [1]
    with pytest.raises(ProbeError, match="there is no file"):
        resolve(ProbeSpec("uprobe", path, "looped"))


def test_usdt_of_the_whole_machine(demo: str) -> None:
    """Protects `usdt:*:name`: every running program is looked at."""
    with running(demo, "wait"):
        found = resolve(ProbeSpec("usdt", "*", "place", namespace="demo"))
        assert {s.name for s in found} == {f"usdt:{demo}:demo:place"}
