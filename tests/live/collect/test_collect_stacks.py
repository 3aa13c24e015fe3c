"""Names in stacks: of processes that are gone, of generated code, of deleted files, of containers, of C++ and Rust; and
of the kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from collect_programs import CPP, build, symbol, work
from collect_run import Running, Waiting, environment, run

CHAIN = ["innermost", "middle", "outermost", "do_deep", "main"]
"""At the entry of a function its caller's frame is not made yet: frame pointers would leave ``middle`` out."""


def frames(out: str) -> list[str]:
    """Function names of the first stack printed."""
    return re.findall(r"^\s+([^\s+]+)\+", out, re.MULTILINE)


def test_collect_stack_of_a_process_that_has_ended() -> None:
    """Started by -c and gone when the map is printed."""
    done = run(f"uprobe:{work()}:innermost {{ @[ustack(6)] = count(); }}", "-c", f"{work()} deep 1")
    assert frames(done.out)[:3] == CHAIN[:3]


def test_collect_stack_of_a_process_that_was_there_before_and_ended() -> None:
    """Its mappings were never told by an event: they are read while it lives."""
    with (
        Waiting(work(), "deep", "1") as target,
        Running(f"uprobe:{work()}:innermost {{ @[ustack(6)] = count(); }} interval:ms:50 {{ @t++; }}") as session,
    ):
        assert session.out.text == ""
        target.go()
        done = session.stop()
    assert frames(done.out)[:3] == CHAIN[:3]


def test_collect_symbol_of_a_process_that_has_ended() -> None:
    """usym() of an address, printed late."""
    done = run(f'uprobe:{work()}:innermost {{ @[usym(reg("ip"))] = count(); }}', "-c", f"{work()} deep 1")
    assert "@[innermost]: 1" in done.lines


def test_collect_stack_of_a_deleted_binary(tmp_path: Path) -> None:
    """A program that was replaced or deleted while it runs, as upgrades do."""
    path = tmp_path / "gone"
    shutil.copy(work(), path)
    with Waiting(str(path), "deep", "1", stay=True) as target:
        program = f"uprobe:{path}:innermost {{ @[ustack(6)] = count(); }}"
        with Running(program, "-p", str(target.pid)) as session:
            path.unlink()
            target.go()
            done = session.stop()
    assert frames(done.out)[:3] == CHAIN[:3]


def test_collect_stack_in_another_mount_namespace(tmp_path: Path) -> None:
    """A container: the binary is visible only inside of it, on a tmpfs; it has ended when its stack is printed."""
    place = tmp_path / "inside"
    place.mkdir()
    script = f"mount -t tmpfs none {place} && cp {work()} {place}/app && exec {place}/app deep 1"
    target = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(), "WAIT": "1"},
    )
    assert target.stdin is not None
    assert target.stderr is not None
    try:
        assert target.stderr.readline().startswith(b"ready")
        assert not (place / "app").exists()
        program = f"uprobe:{place}/app:innermost {{ @[ustack(6)] = count(); }}"
        with Running(program, "-p", str(target.pid)) as session:
            target.communicate(b"go\n", timeout=300)
            done = session.wait()
    finally:
        target.kill()
        target.wait()
    assert frames(done.out)[:3] == CHAIN[:3]


JIT = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    /* push %rbp; mov %rsp,%rbp; mov $110,%eax; syscall; pop %rbp; ret: getppid, with a frame */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0x5d, 0xc3};
    char name[64];
    void *place = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, code, sizeof code);
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %x generated::function\n", (long)place, (int)sizeof code);
    fclose(map);
    ((long (*)(void))place)();
    return 0;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="not on this architecture")
def test_collect_stack_of_generated_code() -> None:
    """A JIT compiler's /tmp/perf-PID.map names its code, also when the process is gone."""
    path = build("jit", JIT)
    done = run(
        'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%d %s\\n", pid, ustack(4)); }',
        "-q",
        "-c",
        path,
    )
    pid = int(done.out.split()[0])
    Path(f"/tmp/perf-{pid}.map").unlink()
    assert frames(done.out)[:2] == ["generated::function", "main"]


def test_collect_cpp_names() -> None:
    """C++ functions by their readable names, with templates and argument types; raw with cpp_demangle = false."""
    path = build("cpp", CPP)
    mangled = "_ZNK3app3BoxIiE3getEi"
    program = f"uprobe:{path}:{mangled} {{ @[ustack(2)] = count(); }}"
    nice = run(program, "-c", path)
    assert "app::Box<int>::get(int) const+0" in nice.out
    server = run(f'uprobe:{path}:cpp:"app::Server::handle" {{ @[ustack(1)] = count(); }}', "-c", path)
    assert "app::Server::handle(std::" in server.out
    raw = run(f"config = {{ cpp_demangle = false }} {program}", "-c", path)
    assert f"{mangled}+0" in raw.out


def test_collect_rust_names(tmp_path: Path) -> None:
    """Rust functions, of both manglings, without their hashes."""
    if shutil.which("rustc") is None:
        pytest.skip("needs rustc")
    source = tmp_path / "r.rs"
    source.write_text(
        "mod deep { #[inline(never)] pub fn work(n: u64) -> u64 { unsafe { std::ptr::read_volatile(&n) + 1 } } }\n"
        "#[inline(never)] fn caller(n: u64) -> u64 { deep::work(n) + 2 }\n"
        'fn main() { println!("{}", caller(std::env::args().count() as u64)); }\n'
    )
    for version in ("legacy", "v0"):
        path = tmp_path / f"r-{version}"
        flags = ["-O", "-Zunstable-options", "-Cforce-frame-pointers=yes", f"-Csymbol-mangling-version={version}"]
        env = {**os.environ, "RUSTC_BOOTSTRAP": "1"}  # the older mangling is not in the stable options any more
        subprocess.run(["rustc", *flags, "-o", path, source], env=env, check=True, timeout=300)
        names = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.split()
        mangled = next(n for n in names if "deep" in n and "work" in n)
        done = run(f"uprobe:{path}:{mangled} {{ @[ustack(1)] = count(); }}", "-c", str(path))
        assert re.search(r"^\s+r(\[\w+\])?::deep::work\+0\n", done.out, re.MULTILINE), done.out


def test_collect_kernel_stack_as_bpftrace() -> None:
    """The kernel frames of one system call, as bpftrace shows them: the same names and offsets, from the call on."""
    if shutil.which("bpftrace") is None:
        pytest.skip("needs bpftrace")
    script = 'tracepoint:sched:sched_process_exit /pid == cpid/ { printf("%s\\n", kstack); exit(); }'
    peer = subprocess.run(
        ["bpftrace", "-q", "-e", script, "-c", f"{work()} getppid 1"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
        check=False,
    )
    expected = [line.strip() for line in peer.stdout.splitlines() if line.strip()]
    assert expected.pop(0).startswith("__traceiter_")  # a frame of the tracing itself, which we leave out
    done = run(script, "-q", "-c", f"{work()} getppid 1")
    got = [line.strip() for line in done.lines if line.strip()]
    assert len(expected) >= 4
    assert got == expected


def test_collect_kernel_symbols_as_kallsyms() -> None:
    """ksym() of every tenth of the first thousand text symbols: the name, or another name of the same address."""
    table: dict[int, set[str]] = {}
    with open("/proc/kallsyms") as f:
        for line in f:
            address, kind, name = line.split()[:3]
            if kind in "tT" and "[" not in line:
                table.setdefault(int(address, 16), set()).add(name)
    wanted = sorted(table)[100:1000:100]
    calls = " ".join(f'printf("%s\\n", ksym({a:#x}));' for a in wanted)
    done = run(f"BEGIN {{ {calls} exit(); }}", "-q")
    assert all(name in table[a] for name, a in zip(done.lines, wanted, strict=True)), done.out


def test_collect_stack_modes() -> None:
    """The three ways to show a stack: bpftrace's, perf's with addresses and modules, and bare addresses."""
    at = symbol(work(), "innermost")
    program = f"uprobe:{work()}:innermost {{ print(ustack(1)); print(ustack(perf, 1)); print(ustack(raw, 1)); }}"
    done = run(program, "-q", "-c", f"{work()} deep 1")
    lines = [line.strip() for line in done.lines if line.strip()]
    assert re.fullmatch(r"innermost\+0@/\S+/work\.c:\d+", lines[0])
    assert lines[1:] == [f"{at:x} innermost+0 ({work()})", f"{at:x}"]
