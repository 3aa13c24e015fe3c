"""Functions of Go and Rust programs have the names that their authors gave them."""

import os
import re
import shutil
import subprocess

import pytest
from collect_run import run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loads BPF programs")

RUST = """
use std::collections::HashMap;
extern "C" { fn getppid() -> i32; }
struct Shop<T> { items: HashMap<String, T> }
trait Price { fn price(&self) -> u64; }
impl Price for u32 {
    #[inline(never)]
    fn price(&self) -> u64 { unsafe { getppid() }; *self as u64 }
}
impl<T: Price> Shop<T> {
    #[inline(never)]
    fn total(&self) -> u64 { let mut sum = 0; for p in self.items.values() { sum += p.price(); } sum }
}
fn main() {
    let mut shop = Shop { items: HashMap::new() };
    shop.items.insert("a".to_string(), 5u32);
    println!("{}", shop.total());
}
"""
GO = """package main

import (
	"fmt"
	"syscall"
)

type Shop[T any] struct{ items []T }

//go:noinline
func (s *Shop[T]) Total() int { syscall.Getppid(); return len(s.items) }

//go:noinline
func each(f func() int) int { return f() }

func main() {
	s := &Shop[int]{items: []int{1}}
	fmt.Println(each(func() int { return s.Total() }))
}
"""


def _stack(path):
    done = run(
        f'tracepoint:syscalls:sys_enter_getppid /comm == "{path.name[:15]}"/ {{ @[ustack] = count(); }}',
        "-c",
        str(path),
    )
    return re.findall(r"^ {8}(\S.*?)\+\d+(?:@\S+)?$", done.out, re.MULTILINE)


def _built(tmp_path, tool, name, text, *command):
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    source = tmp_path / name
    source.write_text(text)
    out = tmp_path / f"names-{tool}"
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [tool, *command, str(out), str(source)], capture_output=True, cwd=tmp_path, env=env, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip(f"needs a {tool} that works: {done.stderr[:200]!r}")
    return out


@pytest.mark.parametrize("mangling", ["", "v0"])
def test_rust(tmp_path, mangling):
    """The mangling of old and the one of RFC 2603: no hashes, no escapes."""
    how = ["-C", f"symbol-mangling-version={mangling}"] if mangling else []
    path = _built(tmp_path, "rustc", "shop.rs", RUST, "-C", "force-frame-pointers=yes", *how, "-o")
    names = _stack(path)
    assert any(re.fullmatch(r"<u32 as \w+::Price>::price", n) for n in names), names
    assert any(re.match(r"(<\w+::Shop<\w+>>|\w+::Shop<\w+>)::total", n) for n in names), names
    assert not [n for n in names if re.search(r"::h[0-9a-f]{16}|^_R|^_ZN|\$", n)], names


def test_go(tmp_path):
    """Methods, closures and generics."""
    names = _stack(_built(tmp_path, "go", "main.go", GO, "build", "-o"))
    assert [n for n in names if n.startswith("main.")][1:] == ["main.main.func1", "main.each", "main.main"]
    assert re.fullmatch(r"main\.\(\*Shop\[.*\]\)\.Total", next(n for n in names if n.startswith("main.")))
