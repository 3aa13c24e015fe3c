# ruff: noqa: E501 - lines of other languages
"""Programs of C++, Rust and Go whose arguments are texts, containers, owners, enums, interfaces. They print what they
throw, which class an object has, which goroutines they run; all else is written in their sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CPP = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace shop {
struct Point { int x, y; };
enum class Color { red = 1, green = 2 };

class Shape {
public:
    explicit Shape(std::string name) : name_(std::move(name)) {}
    virtual ~Shape() = default;
    virtual double area(int scale) const = 0;
    __attribute__((noinline)) int rename(const std::string &to) { name_ = to; return (int)name_.size(); }
protected:
    std::string name_;
    int id_ = 7;
};
class Circle : public Shape {
public:
    explicit Circle(int r) : Shape("circle"), radius_(r) {}
    double area(int scale) const override;
private:
    int radius_;
};
class Square : public Shape {
public:
    explicit Square(int s) : Shape("square of a name that is long"), side_(s) {}
    double area(int scale) const override;
    int side_;
};
__attribute__((noinline)) double Circle::area(int scale) const { return 3.0 * radius_ * radius_ * scale; }
__attribute__((noinline)) double Square::area(int scale) const { return 1.0 * side_ * side_ * scale; }

__attribute__((noinline)) int total(const Shape &shape, int scale) { return (int)shape.area(scale); }
__attribute__((noinline)) int take(int v) { return v + 1; }
__attribute__((noinline)) int take(const std::string &s) { return (int)s.size(); }
__attribute__((noinline)) int take(double d, int n) { return (int)d + n; }
template <typename T> __attribute__((noinline)) T twice(T v) { return v + v; }
__attribute__((noinline)) int texts(const std::string &a, std::string b, std::string_view c, const char *d) {
    return (int)(a.size() + b.size() + c.size()) + d[0];
}
__attribute__((noinline)) int lists(const std::vector<int> &v, const std::vector<std::string> &names,
                                    const std::vector<Point> &points, const std::vector<bool> &bits) {
    return (int)(v.size() + names.size() + points.size() + bits.size());
}
__attribute__((noinline)) int trees(const std::map<std::string, int> &m, const std::set<int> &s, const std::map<int, Point> &big) {
    return (int)(m.size() + s.size() + big.size());
}
__attribute__((noinline)) int owners(const std::unique_ptr<Point> &u, const std::shared_ptr<Point> &s,
                                     std::optional<int> o, const std::optional<std::string> &p, const std::unique_ptr<Point> &none) {
    return (u ? u->x : 0) + (s ? s->y : 0) + o.value_or(0) + (p ? (int)p->size() : 0) + (none ? 1 : 0);
}
__attribute__((noinline)) int hashes(const std::unordered_map<int, int> &h, Color c, const int (&a)[3]) { return (int)h.size() + (int)c + a[0]; }
struct Sum {
    int total = 0;
    __attribute__((noinline)) Sum &operator+=(int by) { total += by; return *this; }
    __attribute__((noinline)) int operator()(int a, int b) const { return total + a * b; }
    __attribute__((noinline)) operator bool() const { return total > 3; }
    __attribute__((noinline)) bool operator<=(const Sum &o) const { return total <= o.total; }
};
namespace { __attribute__((noinline)) int hidden(int q) { return q + 1; } }
__attribute__((noinline)) int nested(int n) { auto f = [n](int a) __attribute__((noinline)) { return a + n; }; return f(n + 1) + hidden(n); }
__attribute__((noinline)) std::string label(int n) { return "label " + std::to_string(n); }
__attribute__((noinline)) Point corner(int x) { return {x, -x}; }
__attribute__((noinline)) const Shape &same(const Shape &s) { return s; }
__attribute__((noinline)) void fail(int code) {
    if (code == 1) throw std::runtime_error("disk is full");
    if (code == 2) throw std::out_of_range("index 9");
    throw code;
}
}
using namespace shop;
int main() {
    Circle circle(2); Square square(3);
    const Shape &first = circle;
    std::printf("class %s\n", typeid(first).name());
    int n = total(circle, 1) + total(square, 2);
    n += take(1) + take(std::string("abc")) + take(2.5, 3);
    n += twice(4) + (int)twice(1.5) + (int)twice<long>(5);
    n += texts("short", std::string("a string that is too long to be kept inside"), "a view", "plain");
    n += lists({1, -2, 3}, {"one", "two and a tail that is longer than sixteen"}, {{1, 2}, {3, 4}}, {true, false, true});
    std::map<int, Point> big; for (int i = 0; i < 50; i++) big[i] = {i, -i};
    n += trees({{"a", 1}, {"b", 2}, {"c", 3}}, {5, 6}, big);
    n += owners(std::make_unique<Point>(Point{8, 9}), std::make_shared<Point>(Point{10, 11}), 12, std::string("in an optional"), nullptr);
    int three[3] = {7, 8, 9};
    n += hashes({{1, 10}}, Color::green, three);
    n += square.rename("renamed");
    Sum sum; sum += 4; n += sum(5, 6) + (bool)sum + (sum <= Sum()) + nested(8);
    n += (int)label(7).size() + corner(3).x + (&same(circle) == &circle);
    for (int code = 1; code <= 3; code++) { try { fail(code); } catch (const std::exception &e) { std::printf("threw %s\n", e.what()); } catch (int) { n++; } }
    std::printf("done %d\n", n > 0);
}
"""

RUST = r"""
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
#[derive(Debug, Clone)]
pub struct Point { x: i32, y: i32 }
#[derive(Debug)]
pub enum Shape { Dot, Circle(u32), Rect { w: i32, h: i32 }, Named(String) }
#[inline(never)]
pub fn texts(a: &str, b: String, c: &String) -> usize { a.len() + b.len() + c.len() }
#[inline(never)]
pub fn lists(v: &Vec<i32>, s: &[Point], names: Vec<String>, arr: [u16; 3]) -> usize { v.len() + s.len() + names.len() + arr.len() }
#[inline(never)]
pub fn options(a: Option<i32>, b: Option<&str>, c: Option<Box<Point>>, d: Result<u8, String>, e: Option<String>) -> usize {
    a.unwrap_or(0) as usize + b.map_or(0, |s| s.len()) + c.map_or(0, |p| p.x as usize) + d.map_or(0, |v| v as usize) + e.map_or(0, |s| s.len())
}
#[inline(never)]
pub fn shapes(s: &Shape, t: Shape) -> i32 { area(s) + area(&t) }
#[inline(never)]
fn area(s: &Shape) -> i32 { match s { Shape::Dot => 0, Shape::Circle(r) => *r as i32, Shape::Rect { w, h } => w * h, Shape::Named(n) => n.len() as i32 } }
#[inline(never)]
pub fn boxed(p: Box<Point>, q: &Point, m: &HashMap<i32, i32>, flag: bool, ch: char) -> i32 { p.x + q.y + m.len() as i32 + flag as i32 + ch as i32 }
impl Point { #[inline(never)] pub fn moved(&self, by: i32) -> Point { Point { x: self.x + by, y: self.y } } }
#[inline(never)]
pub fn hashes(m: &HashMap<String, u8>, s: &HashSet<String>, big: &HashMap<u32, u32>, none: &HashMap<u8, u8>) -> usize { m.len() + s.len() + big.len() + none.len() }
#[inline(never)]
pub fn trees(m: &BTreeMap<String, i32>, s: BTreeSet<u16>, big: &BTreeMap<u32, u32>, none: &BTreeMap<u8, u8>) -> usize { m.len() + s.len() + big.len() + none.len() }
#[inline(never)]
pub fn queue(d: &VecDeque<i32>) -> usize { d.len() }
#[inline(never)]
pub fn generic<T: std::fmt::Debug>(v: T) -> usize { format!("{:?}", v).len() }
fn main() {
    let mut n = texts("a str", String::from("a String"), &String::from("by reference"));
    n += lists(&vec![1, -2, 3], &[Point { x: 1, y: 2 }, Point { x: 3, y: 4 }], vec!["one".to_string(), "two".to_string()], [7, 8, 9]);
    n += options(Some(5), Some("inner"), Some(Box::new(Point { x: 6, y: 7 })), Ok(8), Some("owned".to_string()));
    n += options(None, None, None, Err("bad".to_string()), None);
    n += shapes(&Shape::Circle(3), Shape::Named("box".to_string())) as usize;
    n += shapes(&Shape::Rect { w: 2, h: 5 }, Shape::Dot) as usize;
    n += boxed(Box::new(Point { x: 1, y: 2 }), &Point { x: 3, y: 4 }, &HashMap::from([(1, 2)]), true, 'ß') as usize;
    n += Point { x: 1, y: 1 }.moved(4).x as usize;
    n += generic(12u8) + generic("text");
    let one = HashSet::from(["one".to_string()]);
    n += hashes(&HashMap::from([("k".to_string(), 5)]), &one, &(0..100).map(|i| (i, 2 * i)).collect(), &HashMap::new());
    let named = BTreeMap::from([("b".to_string(), 2), ("a".to_string(), 1)]);
    n += trees(&named, (1..4).collect(), &(0..100).map(|i| (i, 3 * i)).collect(), &BTreeMap::new());
    let mut d = VecDeque::with_capacity(4);
    for i in 0..6 { d.push_back(i); if i > 2 { d.pop_front(); } }
    n += queue(&d);
    println!("{}", n);
}
"""

GO = r"""
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type Point struct{ X, Y int }
type Shape interface{ Area() float64 }
type Circle struct{ R float64 }

func (c Circle) Area() float64 { return 3 * c.R * c.R }

//go:noinline
func text(s string, n int) (int, string) { return len(s) + n, s + "!" }

//go:noinline
func list(v []int, names []string, p Point, q *Point) int { return len(v) + len(names) + p.X + q.Y }

//go:noinline
func iface(s Shape, e error, a interface{}) float64 {
	if e != nil && a != nil { return s.Area() }
	return 0
}

//go:noinline
func floats(a float64, b float32, c bool, d uint8) float64 { return a + float64(b) }

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j, k int) int { return a + b + c + d + e + f + g + h + i + j + k }

//go:noinline
func (p *Point) Move(by int) error { p.X += by; if by > 3 { return errors.New("too far") }; return nil }

//go:noinline
func deep(n int) int { var pad [64]int; pad[n%64] = n; if n == 0 { return 0 }; return deep(n-1) + pad[n%64] - n + 1 }

//go:noinline
func step(i int) int { if i%2 == 0 { return i + 1 }; return i + 2 }

func main() {
	n, s := text("hello", 3)
	n += list([]int{1, 2, 3}, []string{"a", "bc"}, Point{4, 5}, &Point{6, 7})
	f := iface(Circle{2}, errors.New("broken"), 42) + floats(1.5, 2.5, true, 9)
	n += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	p := &Point{1, 1}
	if p.Move(2) != nil || p.Move(5) == nil { n++ }
	var wg sync.WaitGroup
	out := make(chan int, 4)
	for g := 0; g < 4; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			var b [64]byte
			fmt.Println(string(bytes.Fields(b[:runtime.Stack(b[:], false)])[1]), g)
			out <- deep(100 + g)
		}(g)
	}
	wg.Wait()
	for g := 0; g < 4; g++ { n += <-out }
	if len(os.Args) > 1 {
		turns, _ := strconv.Atoi(os.Args[1])
		sum := 0
		for i := 0; i < turns; i++ { sum += step(i) }
		n += sum
	}
	fmt.Println(n, s, f)
}
"""


def _made(folder: Path, compiler: str, file: str, text: str, *how: str) -> str:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, out = folder / file, folder / file.partition(".")[0]
    source.write_text(text)
    command = [compiler, *how, str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return str(out)


def cpp(folder: Path, level: str) -> str:
    return _made(folder, "g++", f"shapes{level}.cpp", CPP, "-std=c++17", "-g", f"-O{level}", "-o")


def rust(folder: Path) -> str:
    return _made(folder, "rustc", "calls.rs", RUST, "-g", "-o")


def go(folder: Path, *, stripped: bool = False) -> str:
    file = "bare.go" if stripped else "work.go"
    return _made(folder, "go", file, GO, "build", *(["-ldflags", "-s -w"] if stripped else []), "-o")
