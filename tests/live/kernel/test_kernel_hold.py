"""Holding a program at its entry: what it is then, and that it does not notice."""

from __future__ import annotations

import os
import signal

import pytest
from collect_programs import build

from probescope.errors import UsageError
from probescope.kernel import procfs
from probescope.kernel.child import Child

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="held on x86-64 only")

SELF = r"""
#include <stdio.h>
extern unsigned char _start[];
int main(int argc, char **argv) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    while (fgets(line, sizeof line, f)) if (sscanf(line, "TracerPid: %*[0]%c", line) > 0 && line[0] == '\n') return 5;
    return _start[0] == 0xcc ? 6 : 4;
}
"""


def ended(child: Child) -> int:
    """Its exit code, when it has ended."""
    if not child.ended():
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.ended()
    code = child.exit_code()
    child.close()
    return code


def test_libraries_are_mapped_and_the_program_has_not_begun() -> None:
    """Looked at once; the loader has run. The program finds its own code, and no tracer."""
    path = build("itself", SELF)
    seen: list[list[str]] = []
    child = Child((path,))
    child.start(lambda: seen.append([m.path for m in procfs.maps(child.pid)]))
    assert ended(child) == 5
    (paths,) = seen
    assert path in paths
    assert any("libc.so" in p for p in paths)


@pytest.mark.parametrize("path", ["static", "script"])
def test_programs_without_a_loader(path: str, tmp_path: object) -> None:
    """A static program is held at its first instruction, a script at that of its interpreter."""
    seen: list[int] = []
    if path == "static":
        command = (build("static", "int main(void) { return 4; }\n", "-static"),)
    else:
        script = f"{tmp_path}/script"
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 4\n")
        os.chmod(script, 0o755)
        command = (script,)
    child = Child(command)
    child.start(lambda: seen.append(1))
    assert ended(child) == 4
    assert seen == [1]


def test_a_program_that_ends_before_its_entry() -> None:
    """A library is missing: the loader says so and exits. Nothing was looked at; the exit code is its own."""
    library = build("gone.so", "int gone(void) { return 1; }\n", "-shared", "-fPIC")
    path = build("broken", "int gone(void); int main(void) { return gone(); }\n", "-Wl,--no-as-needed", library)
    os.unlink(library)
    seen: list[int] = []
    child = Child((path,))
    child.start(lambda: seen.append(1))
    assert ended(child) == 127
    assert seen == []


def test_a_file_that_the_kernel_cannot_run(tmp_path: object) -> None:
    """The same error as without being held."""
    path = f"{tmp_path}/noise"
    with open(path, "wb") as f:
        f.write(b"\x7fELF" + bytes(200))
    os.chmod(path, 0o755)
    child = Child((path,))
    with pytest.raises(UsageError, match="cannot start"):
        child.start(lambda: None)
    child.close()


def test_a_child_that_was_killed_while_it_waited() -> None:
    child = Child(("/bin/true",))
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    child.start(lambda: None)
    assert ended(child) == 128 + signal.SIGKILL


def test_an_error_while_looking_lets_the_program_go() -> None:
    """Whatever happens in between, nothing stays stopped behind us."""

    def fail() -> None:
        raise RuntimeError

    child = Child(("/bin/true",))
    with pytest.raises(RuntimeError):
        child.start(fail)
    assert ended(child) == 0
