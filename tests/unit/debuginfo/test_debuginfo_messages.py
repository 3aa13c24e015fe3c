"""Which messages a printed line may come from: formats, their literal pieces, and how much of them agrees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.debuginfo.messages import Pattern, found, pieces, text_at

TEXTS = [
    (0x10, "cannot access %s"),
    (0x20, "%s: command not found"),
    (0x30, "access"),
    (0x40, "\x013%s: Killed process %d (%s) total-vm:%lukB\n"),
    (0x50, "%s"),
    (0x60, "100%% of %s done"),
    (0x70, "EXT4-fs (%s): mounted filesystem %pU %s with%s data mode\n"),
]


def addresses(line: str) -> list[int]:
    return [m.address for m in found(Pattern(line), TEXTS)]


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("cannot access %s", 0x10),
        ("ls: cannot access '/x': No such file or directory", 0x10),
        ("cannot acc", 0x10),
        ("bash: foo: command not found", 0x20),
        ("Out of memory: Killed process 312 (stress) total-vm:8192kB", 0x40),
        ("Out of memory: Killed process", 0x40),
        ("[ 12.345678] oom: Killed process 9 (x) total-vm:1kB", 0x40),
        ("<3>oom: Killed process 9 (x) total-vm:1kB", 0x40),
        ("copy: 100% of /etc/x done", 0x60),
        ("EXT4-fs (sda1): mounted filesystem 1b4e28ba-2fa1 ro with ordered data mode", 0x70),
        ("sda1): mounted filesystem 1b4e28ba", 0x70),
    ],
)
def test_a_line_finds_the_format_that_printed_it(line: str, address: int) -> None:
    """Protects matching of printed lines, formats, parts of either, and of what dmesg puts before a line."""
    assert addresses(line)[0] == address


def test_words_of_a_line_are_no_messages() -> None:
    """Protects against naming every function that has one word of the line."""
    assert 0x30 not in addresses("ls: cannot access '/x': No such file or directory")
    assert addresses("access") == [0x30]


@pytest.mark.parametrize("line", ["", "%s", "a b", "%d%d%d%s", "[ 1.0] "])
def test_too_little_is_refused(line: str) -> None:
    """Protects against answering with everything."""
    with pytest.raises(ValueError, match="letters"):
        Pattern(line)


def test_formats_fall_apart_at_conversions() -> None:
    """Protects the grammar of conversions: flags, widths, lengths, the kernel's %p extensions, doubled percents."""
    assert pieces("a%-*.*lld b%%c %pISpfc,%#x%s") == ["a", " b%c ", ",", "", ""]
    assert pieces("50% of it") == ["50", "f it"]  # "% o" is a conversion: a space is a flag
    assert pieces("100%") == ["100%"]


def test_texts_end_with_a_zero_byte() -> None:
    """Protects reading of texts: what never ends, is too short, or is no text, is none."""
    data = b"hello world\0ab\0\xff\xfe\xfdxyz\0unended"
    assert text_at(data, 0) == "hello world"
    assert text_at(data, 6) == "world"
    assert text_at(data, 12) is None
    assert text_at(data, 15) is None
    assert text_at(data, 22) is None


@given(st.text(max_size=60), st.lists(st.text(max_size=40), max_size=6))
def test_any_line_against_any_text(line: str, texts: list[str]) -> None:
    """Protects against patterns that raise, and against claims of more agreement than there are letters."""
    try:
        pattern = Pattern(line)
    except ValueError:
        return
    for m in found(pattern, enumerate(texts)):
        assert 0 < m.letters <= sum(c.isalnum() for c in m.text)
