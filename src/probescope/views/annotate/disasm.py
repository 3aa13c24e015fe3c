"""Bytes of x86 to instructions as objdump writes them, by the package iced-x86."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from probescope.debuginfo.iced import iced
from probescope.errors import UsageError

SYNTAXES = {"att": "GAS", "intel": "INTEL"}
BITS = {"x86_64": 64, "i386": 32}
Name = Callable[[int], str]
"""``<function+0x1f>`` of an address, empty if it has no name."""


class Instruction(NamedTuple):
    """``target``: where it jumps to, 0 if it does not or that is not known."""

    address: int
    code: bytes
    text: str
    target: int = 0


def decode(
    code: bytes, address: int, machine: str, syntax: str = "att", name: Name = lambda _: ""
) -> list[Instruction]:
    """Raises UsageError without iced-x86, and for processors that it does not know."""
    package = iced()
    bits = BITS.get(machine)
    if bits is None:
        raise UsageError(f"instructions of {machine} are not decoded", hints=["x86_64 and i386 are"])
    formatter = _formatter(package, syntax)
    return list(_decoded(package, package.Decoder(bits, code, ip=address), formatter, code, address, name))


def _formatter(iced: Any, syntax: str) -> Any:
    out = iced.Formatter(getattr(iced.FormatterSyntax, SYNTAXES[syntax]))
    out.hex_prefix, out.hex_suffix = "0x", ""
    out.first_operand_char_index = 7
    for off in (
        *("uppercase_hex", "small_hex_numbers_in_decimal", "space_after_operand_separator", "branch_leading_zeros"),
        *("displacement_leading_zeros", "leading_zeros", "show_branch_size", "signed_immediate_operands"),
    ):
        setattr(out, off, False)
    for on in ("rip_relative_addresses", "signed_memory_displacements"):
        setattr(out, on, True)
    return out


def _decoded(iced: Any, decoder: Any, formatter: Any, code: bytes, begin: int, name: Name) -> Iterator[Instruction]:
    for i in decoder:
        at = i.ip - begin
        raw = code[at : at + i.len]
        if i.is_invalid:
            yield Instruction(i.ip, raw, "(bad)")
            continue
        formatter.always_show_scale = i.memory_index != 0
        formatter.show_zero_displacements = i.memory_displ_size > 0
        text, target = formatter.format(i), 0
        if i.is_jcc_short_or_near or i.is_jmp_short_or_near or i.is_call_near:
            branch = i.near_branch_target
            target = 0 if i.is_call_near else branch
            named = name(branch)
            text = f"{formatter.format_mnemonic(i):<6} {branch:x}{f' {named}' if named else ''}"
        elif i.is_ip_rel_memory_operand:
            named = name(i.ip_rel_memory_address)
            text += f"        # {i.ip_rel_memory_address:x}{f' {named}' if named else ''}"
        yield Instruction(i.ip, raw, text, target)
