"""Events of ftrace itself whose text is not what their print format says: binary printk, stacks, functions, raw data.

Source: kernel/trace/trace_output.c; as libtraceevent and its function plugin print them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.errors import FormatError
from probescope.formats.tracing.directives import Directive, pieces
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.texts import MOST_KEPT

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType

Show = Callable[[Records], list[str]]
_KNOWN_POINTERS = {"", "s", "S", "f", "F", "x"}


def special(event: EventType, c: Context) -> Show | None:
    """How an event of ftrace is shown, None: by its print format."""
    makers: dict[str, Callable[[EventType, Context], Show]] = {
        "ftrace:bprint": BinaryPrintk,
        "ftrace:kernel_stack": _stack,
        "ftrace:function": Functions,
        "ftrace:raw_data": _raw_data,
    }
    maker = makers.get(event.name)
    return maker(event, c) if maker else None


def _tail(r: Records, offset: int) -> list[bytes]:
    """What follows ``offset`` in each record."""
    data = r.data
    return [data[a + offset : a + n] for a, n in zip(r.start.tolist(), r.size.tolist(), strict=True)]


def place(address: int, c: Context) -> str:
    found = c.plain(address)
    return found[0] if found else f"0x{address:x}"


class BinaryPrintk:
    """trace_printk() with its format's address and its arguments in 32-bit words: numbers of 4 bytes and less take one,
    others are not aligned further; texts are there with their NUL."""

    def __init__(self, event: EventType, c: Context) -> None:
        self.fields = [event.field(name) for name in ("ip", "fmt", "buf")]
        self.c = c
        self.order = ">" if c.big else "<"
        self.formats: dict[int, list[str | Directive]] = {}

    def __call__(self, r: Records) -> list[str]:
        ip, fmt, buf = self.fields
        if ip is None or fmt is None or buf is None:
            return [""] * len(r)
        addresses = r.number(fmt.offset, fmt.size).tolist()
        callers = r.number(ip.offset, ip.size).tolist()
        return [
            f"{place(caller, self.c)}: {self.text(address, data)}"
            for caller, address, data in zip(callers, addresses, _tail(r, buf.offset), strict=True)
        ]

    def format(self, address: int) -> list[str | Directive]:
        found = self.formats.get(address)
        if found is None:
            if len(self.formats) >= MOST_KEPT:
                self.formats.clear()
            text = self.c.printk.get(address)
            missing: list[str | Directive] = [f"(NO FORMAT FOUND at {address:x})"]
            try:
                found = missing if text is None else pieces(text)
            except FormatError:
                found = [*missing[:0], text or ""]
            self.formats[address] = found
        return found

    def text(self, address: int, data: bytes) -> str:
        out, at = "", 0
        for piece in self.format(address):
            if isinstance(piece, str):
                out += piece
                continue
            if at >= len(data):
                break
            stars: list[int] = []
            for _ in range(piece.star.count("*")):
                number, at = self.number(data, at, 4, True)
                stars.append(number)
            shown, at = self.argument(piece, stars, data, at)
            out += shown
        return out

    def number(self, data: bytes, at: int, size: int, signed: bool) -> tuple[int, int]:
        at = (at + 3) & ~3
        piece = data[at : at + size]
        if len(piece) < size:
            return 0, len(data)
        return int.from_bytes(piece, "big" if self.c.big else "little", signed=signed), at + size

    def argument(self, d: Directive, stars: list[int], data: bytes, at: int) -> tuple[str, int]:
        wide = stars.pop(0) if d.star.startswith("*") else d.width
        exact = stars.pop(0) if d.star.endswith(".*") else d.precision
        exact = min(exact, 1024)
        flags = d.flags + ("-" if wide < 0 else "")
        plain = Directive(flags, min(abs(wide), 1024), exact, "", d.bytes, d.conversion)
        worked_out = d.conversion == "p" and d.pointer not in _KNOWN_POINTERS
        if d.conversion == "s" or (worked_out and 0x20 <= data[min(at, len(data) - 1)] < 0x7F):
            end = data.find(b"\0", at)
            end = len(data) if end < 0 else end
            text = data[at:end].decode("utf-8", "surrogateescape")
            return (plain.python("s") % text if d.conversion == "s" else text), end + 1
        if d.conversion == "p":
            address, at = self.number(data, at, self.c.long_size, False)
            return self.pointer(d, address), at
        size = max(d.bytes, 4) if d.bytes else self.c.long_size
        value, at = self.number(data, at, size, d.conversion in "di")
        if d.conversion == "c":
            return plain.python("s") % chr(value & 0x7F), at
        conversion = "d" if d.conversion in "iu" else d.conversion
        if "#" in flags and not value:
            plain = Directive(flags.replace("#", ""), plain.width, plain.precision)
        return plain.python(conversion) % value, at

    def pointer(self, d: Directive, address: int) -> str:
        if d.pointer in {"s", "S", "f", "F"}:
            found = self.c.plain(address)
            offset = f"+0x{address - found[1]:x}" if found and d.pointer in "SF" else ""
            return f"{found[0]}{offset}" if found else f"0x{address:x}"
        return f"0x{address:x}" if address else "(nil)"


def _stack(event: EventType, c: Context) -> Show:
    caller = event.field("caller")
    offset = caller.offset if caller else 0
    size, order = c.long_size, ">" if c.big else "<"
    end = (1 << 8 * size) - 1

    def show(r: Records) -> list[str]:
        out: list[str] = []
        for data in _tail(r, offset):
            text = "<stack trace >\n"
            for (address,) in struct.iter_unpack(
                f"{order}{'Q' if size == 8 else 'I'}", data[: len(data) // size * size]
            ):
                if address == end:
                    break
                found = c.plain(address)
                text += f"=> {function_name(c, found, address)} ({address:x})\n" if found else f"=> {address:x}\n"
            out.append(text)
        return out

    return show


def function_name(c: Context, found: tuple[str, int] | None, address: int) -> str:
    name, start = found or (f"0x{address:x}", 0)
    return f"{name}+0x{address - start & 0xFFFFFFFF:x} " if c.forms.offset else name


class Functions:
    """Function tracer: indented by the callers seen on the same CPU, as far as they can be told."""

    def __init__(self, event: EventType, c: Context) -> None:
        self.ip, self.parent = event.field("ip"), event.field("parent_ip")
        self.c = c
        self.stacks: dict[int, list[str]] = {}

    def __call__(self, r: Records) -> list[str]:
        if self.ip is None or self.parent is None:
            return ["!"] * len(r)
        functions, parents = r.field(self.ip).tolist(), r.field(self.parent).tolist()
        cpus = r.cpu.tolist() if r.cpu is not None else [0] * len(r)
        return [self.line(f, p, cpu) for f, p, cpu in zip(functions, parents, cpus, strict=True)]

    def line(self, function: int, parent: int, cpu: int) -> str:
        found, caller, forms = self.c.plain(function), self.c.plain(parent), self.c.forms
        depth = self.depth(cpu, caller[0], found[0] if found else "") if caller and forms.indent else 0
        text = " " * (3 * depth) + function_name(self.c, found, function)
        return f"{text} <-- {function_name(self.c, caller, parent)}" if forms.parent else text

    def depth(self, cpu: int, caller: str, function: str) -> int:
        stack = self.stacks.setdefault(cpu, [])
        at = stack.index(caller) if caller in stack else -1
        if at < 0:
            stack[:2] = [caller, function]
            return 0
        if function and at < 512:
            stack[at + 1 : at + 2] = [function]
        return at


def _raw_data(event: EventType, c: Context) -> Show:
    number, buf = event.field("id"), event.field("buf")

    def show(r: Records) -> list[str]:
        if number is None or buf is None:
            return [""] * len(r)
        numbers = r.field(number).tolist()
        return [
            f"# {n:x}" + "".join(f" {b:02x}" for b in d) for n, d in zip(numbers, _tail(r, buf.offset), strict=True)
        ]

    return show
