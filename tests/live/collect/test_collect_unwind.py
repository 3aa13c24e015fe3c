"""User stacks of programs without frame pointers, unwound in the kernel: against what was written, and against glibc's
backtrace() in the same process."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from collect_programs import build
from collect_run import Running, Waiting, run, until
from collect_unwind import EXPECTED, OUTER, library, names, same, unwound

from probescope.debuginfo.elf import ElfFile

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="unwound by tables on x86-64 only")

GETPPID = "tracepoint:syscalls:sys_enter_getppid"


@pytest.mark.parametrize("mode", EXPECTED)
def test_collect_unwind_names(mode: str) -> None:
    """Each kind of frame: calls, alloca, a large frame, an aligned one, a callback, signals, recursion."""
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-k", "-c", f"{unwound()} {mode}")
    found = names(done.out)
    assert same(found, ["mark", "leaf", *EXPECTED[mode], *OUTER]), found
    assert "]: 1\n" in done.out
    assert done.said == ""


def test_collect_unwind_addresses_are_those_of_backtrace() -> None:
    """The same walk by the library that unwinds exceptions: every return address, from leaf's caller on."""
    done = run(
        f'uprobe:{unwound()}:mark {{ printf("%s;\\n", ustack(raw)); }}', "-q", "-c", f"{unwound()} {' '.join(EXPECTED)}"
    )
    told = {
        line.split()[0]: line.split()[1:] for line in done.lines if line.split()[0:1] and line.split()[0] in EXPECTED
    }
    rest = "\n".join(line for line in done.lines if line.split()[0:1] and line.split()[0] not in EXPECTED)
    stacks = [[a.removeprefix("0x") for a in stack.split()] for stack in rest.split(";")]
    assert set(told) == set(EXPECTED)
    for mode, stack in zip(EXPECTED, stacks, strict=False):
        assert stack[2:] == told[mode][: len(stack[2:])], mode
        assert len(told[mode]) == len(stack[2:]), mode


@pytest.mark.parametrize(
    "probe", [GETPPID, "rawtracepoint:sys_enter", "rawtracepoint:sys_exit", "software:cpu-clock:100000"]
)
def test_collect_unwind_where_the_kernel_was_entered(probe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At system calls and interrupts the registers of user space are those that the kernel saved."""
    monkeypatch.setenv("LD_BIND_NOW", "1")  # the resolver of lazy binding finds its frame by RBX, which is not followed
    with Waiting(unwound(), "nested", stay=True) as target:
        os.set_blocking(target.process.stdin.fileno(), True)  # type: ignore[union-attr]
        program = f"{probe} {{ @[ustack] = count(); }} interval:ms:300 {{ exit(); }}"
        with Running(program, "-p", str(target.pid)) as session:
            assert target.process.stdin is not None
            target.process.stdin.write(b"go\n")
            target.process.stdin.flush()
            done = session.wait()
    stacks = [names(s) for s in done.out.split("@[")[1:]]
    whole = [s for s in stacks if same(s[-9:], ["three", "two", "one", "nested", *OUTER])]
    assert whole, done.out
    late = [s for s in stacks if s[-1] != "_start"]
    assert not late, late


def test_collect_unwind_thread() -> None:
    """A thread's outermost function is the C library's clone."""
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-k", "-c", f"{unwound()} thread")
    found = names(done.out)
    assert found[:7] == ["mark", "leaf", "three", "two", "one", "nested", "in_thread"]
    assert found[7] in ("start_thread", "clone3")
    assert done.said == ""


def test_collect_unwind_generated_code_with_a_frame_pointer() -> None:
    """A JIT's frame has no table: the walk passes it by its frame pointer, and goes on by tables."""
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-k", "-c", f"{unwound()} jit_framed")
    found = names(done.out)
    assert found[:2] == ["mark", "leaf"]
    assert found[2].startswith("0x")
    assert found[3:] == ["generated", "jit_framed", *OUTER]
    assert done.said == ""


def test_collect_unwind_generated_code_without_one_is_told() -> None:
    """Where the walk cannot go on it says so, when asked for everything."""
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-k", "-c", f"{unwound()} jit_bare")
    assert len(names(done.out)) == 3
    assert "1 stacks end early: at code that has no unwind table and no frame pointer" in done.said


def test_collect_unwind_equal_stacks_are_one_key() -> None:
    """A thousand times the same stack, and another: two keys in the kernel's map."""
    modes = "nested dynamic " + "nested " * 999
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack(5)] = count(); }}", "-c", f"{unwound()} {modes}")
    assert sorted(re.findall(r"^\]: (\d+)$", done.out, re.MULTILINE)) == ["1", "1000"]
    assert sorted(map(len, map(names, done.out.split("@[")[1:]))) == [5, 5]


def test_collect_unwind_off_and_always() -> None:
    """The configuration decides; without tables a program without frame pointers has no whole stack."""
    program = f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}"
    off = run(f"config = {{ unwind = off }} {program}", "-c", f"{unwound()} nested")
    assert not same(names(off.out), ["mark", "leaf", *EXPECTED["nested"], *OUTER])
    always = run(f"config = {{ unwind = always }} {program}", "-c", f"{unwound()} nested")
    assert same(names(always.out), ["mark", "leaf", *EXPECTED["nested"], *OUTER])


def test_collect_unwind_dw_ustack() -> None:
    """Named so it is always by tables; it wants to know of which process."""
    for word in ("dw_ustack", "dw_ustack()", "dw_ustack(perf, 40)"):
        done = run(f'uprobe:{unwound()}:mark {{ printf("%s", {word}); }}', "-q", "-c", f"{unwound()} nested")
        found = [n.split("+")[0] for n in re.findall(r"^\s*(?:[0-9a-f]+ )?([a-z_]+)\+", done.out, re.MULTILINE)]
        assert same(found, ["mark", "leaf", *EXPECTED["nested"], *OUTER]), done.out
    without = run(f"uprobe:{unwound()}:mark {{ @[dw_ustack] = count(); }}")
    assert without.code == 1
    assert "dw_ustack requires a target process" in without.err
    forbidden = run(
        f"config = {{ unstable_dw_ustack = error }} uprobe:{unwound()}:mark {{ @[dw_ustack] = count(); }}", "-c", "true"
    )
    assert forbidden.code == 1


def test_collect_unwind_of_a_child_and_a_library_that_came_later() -> None:
    """Forked, and loaded, while the session runs: the side-band tells, and the tables are exchanged."""
    for mode, outer in (("forked", ["nested", "in_child", "forked"]), ("loaded", ["nested", "callback", "loaded"])):
        os.environ["LIBRARY"] = library()
        with Waiting(unwound(), mode) as target:
            program = f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }} interval:ms:100 {{ print(@); clear(@); }}"
            with Running(program, "-p" if mode == "loaded" else "--dwarf-pid", str(target.pid)) as session:
                assert target.process.stdin is not None
                target.process.stdin.write(b"go\n")
                target.process.stdin.flush()

                def seen(outer: list[str] = outer, session: Running = session) -> bool:
                    wanted = ["mark", "leaf", "three", "two", "one", *outer, *OUTER]
                    return any(same(names(s), wanted) for s in session.out.text.split("@[")[1:])

                until(seen, f"no whole stack of {mode}")
                session.stop()


def test_collect_unwind_of_a_process_nobody_named() -> None:
    """System-wide: its first stacks are walked by frame pointers, which is told; those that follow are whole."""
    with Waiting(unwound(), "nested", stay=True) as target:
        program = f"{GETPPID} /pid == {target.pid}/ {{ @[ustack] = count(); }} interval:ms:50 {{ print(@); clear(@); }}"
        with Running(program) as session:
            assert target.process.stdin is not None
            target.process.stdin.write(b"go\n")
            target.process.stdin.flush()

            def seen() -> bool:
                return any(
                    same(names(s)[-9:], ["three", "two", "one", "nested", *OUTER]) for s in session.out.text.split("@[")
                )

            until(seen, "no whole stack")
            done = session.stop()
    assert "No DWARF unwind data available for this process" in done.said


def test_collect_unwind_of_a_process_that_runs_the_probed_file() -> None:
    """Nobody named it; but whoever runs that program is meant. Its very first stack is whole."""
    program = f"uprobe:{unwound()}:mark {{ @[ustack] = count(); exit(); }}"
    with Waiting(unwound(), "nested") as target, Running(program) as session:
        target.go()
        done = session.wait()
    assert same(names(done.out), ["mark", "leaf", *EXPECTED["nested"], *OUTER])
    assert done.said == ""


def test_collect_unwind_in_a_loop_and_beside_kstack() -> None:
    """Inside a callback of the kernel's, where less of the stack is left, and twice in one program."""
    program = (
        f"uprobe:{unwound()}:mark {{ for ($i : 0..40) {{ @a[$i % 2, ustack] = count(); }} @b[ustack(3)] = count(); "
        "@c[ustack(perf, 9)] = count(); }"
    )
    done = run(program, "-c", f"{unwound()} nested")
    assert len(re.findall(r"^\]: 20$", done.out, re.MULTILINE)) == 2
    assert done.code == 0


def test_collect_unwind_depth() -> None:
    """len() of a stack is that of the walk that makes it."""
    program = f"uprobe:{unwound()}:mark {{ $s = ustack; print((len($s), len(ustack(4)))); @[$s] = count(); }}"
    done = run(program, "-q", "-c", f"{unwound()} nested")
    assert f"({len(names(done.out))}, 4)" in done.lines


def plt_entry(path: str, name: str) -> int:
    """File offset of the entry through which a program calls a function: entries follow the linker's own one in the
    order of .rela.plt, as readelf tells it."""
    command = ["readelf", "-rW", path]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names_ = [line.split()[4].split("@")[0] for line in rows.splitlines() if "JUMP_SLO" in line]
    with ElfFile.open(path) as elf:
        section = elf.section(".plt")
        assert section is not None
        return section.offset + 16 * (1 + names_.index(name))


@pytest.mark.parametrize("byte", [0, 6, 11])
def test_collect_unwind_inside_of_the_plt(byte: int) -> None:
    """Three instructions; before the last one a number was pushed, and the caller is one word further up."""
    path = build("lazy", LAZY, "-O2", "-fomit-frame-pointer", "-Wl,-z,lazy", "-fcf-protection=none")
    address = plt_entry(path, "getppid") + byte
    done = run(f"uprobe:{path}:{address:#x} {{ @[ustack] = count(); }}", "--unsafe", "-c", path)
    assert names(done.out)[1:4] == ["asks", "main", "__libc_start_call_main"], (done.out, done.err)


LAZY = r"""
#include <unistd.h>
volatile int sink;
__attribute__((noinline, noclone)) void asks(void) { sink = getppid(); sink++; }
int main(void) { asks(); return 0; }
"""


# --- the program of -c is held at its entry ---------------------------------------------------------------------------


def held(command: str) -> int:
    """The exit code of a command that was started by a session that unwinds stacks."""
    program = f'uprobe:{unwound()}:mark {{ @[ustack] = count(); }} END {{ printf("over\\n"); }}'
    done = run(program, "-c", command)
    assert "over" in done.out
    return done.code


def test_collect_unwind_held_programs_end_as_they_would(tmp_path: Path) -> None:
    """A script, one that dies in its loader, one that is static, one whose libraries are missing."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho from the script\nexit 3\n")
    script.chmod(0o755)
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-c", str(script))
    assert "from the script" in done.out
    static = build("static", "int main(void) { return 4; }\n", "-static")
    held(static)
    broken = build("broken", "int f(void); int main(void) { return f(); }\n", "-Wl,--unresolved-symbols=ignore-all")
    held(broken)
    trapped = build("trapped", 'int main(void) { __asm__("int3"); return 0; }\n')
    held(trapped)


def test_collect_unwind_signals_reach_a_held_program(tmp_path: Path) -> None:
    """What it does is what it does without a tracer: its code is not changed, its signals are its own."""
    source = r"""
    #include <signal.h>
    #include <stdio.h>
    #include <string.h>
    extern char _start[];
    static volatile int got;
    static void handler(int s) { got += s; }
    int main(void) {
        signal(SIGTRAP, handler); raise(SIGTRAP);
        signal(SIGSTOP, handler);
        printf("%d %02x\n", got, (unsigned char)_start[0]);
        return 0;
    }
    """
    path = build("own_signals", source)
    plain = subprocess.run([path], capture_output=True, text=True, check=True).stdout
    done = run(f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}", "-q", "-c", path)
    assert plain in done.out
