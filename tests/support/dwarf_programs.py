"""Programs whose parameters are known values, in C and C++, and scripts that print them, for tests of debug
information."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

C_SOURCE = r"""
#include <stdbool.h>
#include <stdio.h>
#define OUT __attribute__((noinline, noipa))
struct pair { int x, y; };
struct three { char a; short b; int c; long d; };
struct big { long v[5]; char name[12]; };
struct mixed { double d; long l; };
struct bits { unsigned a : 3; signed b : 5; unsigned long long c : 40; unsigned char e; };
union both { int i; float f; };
enum color { RED, GREEN = 5, BLUE = -1 };
typedef struct { int inner; struct { int deep; union { int u1; char u2; }; }; } anon_t;
struct node { struct node *next; int value; };  /* the kernel has one, too */
OUT long scalars(char c, short s, int i, long l, unsigned char u, bool b, enum color e, const char *t, long nine) {
    return c + s + i + l + u + b + e + *t + nine;
}
OUT struct pair pairs(struct pair p, struct three t, int after) { p.x += t.c + after; return p; }
OUT struct big bigs(int first, struct big b, int after) { b.v[0] += first + after; return b; }
OUT int floats(double d, int i, float f, struct mixed m, int j) { return d + i + f + m.d + m.l + j; }
OUT int stack(int a, int b, int c, int d, int e, struct pair p, int f, int g, struct three t, int h) {
    return a + b + c + d + e + p.x + f + g + t.a + h;
}
OUT int packed(struct bits *p, anon_t *q, union both u) { return p->a + p->b + q->inner + q->deep + q->u1 + u.i; }
OUT unsigned char small(int n) { return n; }
OUT int negative(int n) { return -n; }
OUT bool yes(int n) { return n > 0; }
OUT struct node *chain(struct node *head, __int128 w, char names[3][8]) {
    return head->next + (w == 0) + (names[0][0] == 0);
}
int main(void) {
    struct pair p = {11, -12};
    struct three t = {'q', -7, 70000, 1L << 40};
    struct big b = {{1, 2, 3, 4, 5}, "bigname"};
    struct mixed m = {1.5, 77};
    struct bits bi = {5, -3, 0x1234567, 9};
    anon_t an = {1, {2, {3}}};
    union both u = {42};
    struct node second = {0, 22}, first = {&second, 21};
    char names[3][8] = {"one", "two", "three"}, text[8] = "text";
    long r = 0;
    r += scalars('c', -2, -300000, -5000000000L, 200, true, BLUE, text, 99);
    r += pairs(p, t, 33).x;
    r += bigs(1, b, 2).v[0];
    r += floats(2.5, 7, 1.25f, m, 8);
    r += stack(1, 2, 3, 4, 5, p, 6, 7, t, 8);
    r += packed(&bi, &an, u);
    r += small(511);
    r += negative(5);
    r += yes(3);
    r += chain(&first, ((__int128)3 << 64) | 4, names)->value;
    return r == 0;
}
"""

C_SCRIPT = r"""
uprobe:BIN:scalars {
    printf("scalars %c %d %d %ld %d %d %s %s %d\n", args.c, args.s, args.i, args.l, args.u, args.b, args.e,
        str(args.t), args.nine);
}
uprobe:BIN:pairs {
    printf("pairs %d %d %c %d %d %ld %d\n", args.p.x, args.p.y, args.t.a, args.t.b, args.t.c, args.t.d, args.after);
    print(args.p);
}
uprobe:BIN:bigs { printf("bigs %d %d %d %s %d\n", args.first, args.b.v[0], args.b.v[4], args.b.name, args.after); }
uprobe:BIN:floats { printf("floats %d %d\n", args.i, args.j); }
uprobe:BIN:stack {
    printf("stack %d %d %d %d %d %d %d %c %d %ld %d\n", args.a, args.b, args.e, args.p.x, args.p.y, args.f, args.g,
        args.t.a, args.t.c, args.t.d, args.h);
}
uprobe:BIN:packed {
    printf("packed %d %d %d %d %d %d %d %d\n", args.p->a, args.p->b, args.p->c, args.p->e, args.q->inner,
        args.q->deep, args.q->u1, args.u.i);
}
uprobe:BIN:chain {
    printf("chain %d %d %s %d\n", args.head->value, args.head->next->value, args.names[2],
        ((struct node *)arg0)->value);
    print(args.w);
}
uretprobe:BIN:small { printf("small %d\n", retval); }
uretprobe:BIN:negative { printf("negative %d\n", retval); }
uretprobe:BIN:yes { printf("yes %d\n", retval); }
uretprobe:BIN:chain { printf("next %d\n", retval->value); }
"""

C_LINES = [
    "scalars c -2 -300000 -5000000000 200 1 BLUE text 99",
    "pairs 11 -12 q -7 70000 1099511627776 33",
    "{ .x = 11, .y = -12 }",
    "bigs 1 1 5 bigname 2",
    "floats 7 8",
    "stack 1 2 5 11 -12 6 7 q 70000 1099511627776 8",
    "packed 5 -3 19088743 9 1 2 3 42",
    "small 255",
    "negative -5",
    "yes 1",
    "chain 21 22 three 21",
    "[4,3]",
    "next 22",
]

CPP_SOURCE = r"""
#include <cstdio>
#include <string>
#define OUT __attribute__((noinline, noipa))
namespace ns {
    enum class Level : short { low = 1, high = -3 };
    struct Base { int base; virtual ~Base() {} };
    struct Point { int x, y; };
    class Shape : public Base {
    public:
        int sides;
        Point at;
        static int count;
        OUT int area(int scale) const { return sides * scale + at.x + base; }
        OUT static int make(Level l, Point &p, Point &&q) { return (int)l + p.x + q.y; }
    };
    int Shape::count = 3;
    OUT int f(int a) { return a; }
    OUT int f(double d, int b) { return d + b; }
    template <typename T> OUT T twice(T v) { return v + v; }
    namespace { OUT int hidden(Point p) { return p.x; } }
}
struct Heavy { int id; std::string s; Heavy(int i) : id(i), s("heavy") {} Heavy(const Heavy &o) : id(o.id), s(o.s) {} };
struct Handle { int *to; ~Handle() { to = 0; } };  // as small as a pointer, and passed by its address
struct Empty {};
OUT int heavy(Heavy h, Empty e, int after) { return h.id + after; }
OUT Heavy give(int n) { return Heavy(n); }
OUT Handle handle(Handle h, int after) { return Handle{h.to + after}; }
OUT int text(const std::string &s, int n) { return s.size() + n; }
OUT int third(int (&a)[3]) { return a[2]; }
struct Point { char other; };
OUT int same(Point *p) { return p->other; }
int main() {
    ns::Shape s;
    s.base = 5;
    s.sides = 4;
    s.at = {6, 7};
    ns::Point p{1, 2};
    int a[3] = {7, 8, 9};
    Point o{'z'};
    int r = s.area(10) + ns::Shape::make(ns::Level::high, p, {3, 4}) + ns::f(12) + ns::f(1.5, 13);
    r += ns::twice(21) + ns::twice(22L) + ns::hidden({8, 9}) + heavy(Heavy(31), Empty(), 32) + give(41).id;
    r += (handle(Handle{a}, 1).to == a) + text("hello", 51) + third(a) + same(&o);
    return r == 0;
}
"""

CPP_SCRIPT = r"""
uprobe:BIN:cpp:"ns::Shape::area" {
    printf("area %d %d %d %d %d\n", args.this->sides, args.this->at.x, args.scale, args.this->base,
        ((struct Shape *)arg0)->sides);
}
uprobe:BIN:cpp:"ns::Shape::make" { printf("make %d %d %d\n", args.l, args.p.x, args.q.y); }
uprobe:BIN:cpp:"ns::f(int)" { printf("f %d\n", args.a); }
uprobe:BIN:cpp:"ns::f(double, int)" { printf("f %d\n", args.b); }
uprobe:BIN:cpp:"ns::twice<*" { printf("twice %d\n", args.v); }
uprobe:BIN:cpp:"ns::*hidden*" { printf("hidden %d %d\n", args.p.x, args.p.y); }
uprobe:BIN:cpp:heavy { printf("heavy %d %d\n", args.h.id, args.after); }
uprobe:BIN:cpp:give { printf("give %d\n", args.n); }
uprobe:BIN:cpp:handle { printf("handle %d %d\n", args.h.to[1], args.after); }
uprobe:BIN:cpp:text { printf("text %s %d\n", str(args.s._M_dataplus._M_p), args.n); }
uprobe:BIN:cpp:third { printf("third %d\n", args.a[2]); }
uprobe:BIN:cpp:same { printf("same %c\n", args.p.other); }
"""

CPP_LINES = [
    "area 4 6 10 5 4",
    "make -3 1 4",
    "f 12",
    "f 13",
    "twice 21",
    "twice 22",
    "hidden 8 9",
    "heavy 31 32",
    "give 41",
    "handle 8 1",
    "text hello 51",
    "third 9",
    "same z",
]


def build(folder: Path, source: str, *flags: str, name: str = "prog", debug: bool = True) -> str:
    """Path of the program; the source is beside it."""
    cpp = source is CPP_SOURCE
    compiler, suffix = ("g++", "cc") if cpp else ("gcc", "c")
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    text, out = folder / f"{name}.{suffix}", folder / name
    text.write_text(source)
    options = ["-w", *(["-g"] if debug else []), *flags]
    subprocess.run([compiler, *options, "-o", str(out), str(text)], check=True, cwd=folder, capture_output=True)
    return str(out)
