"""Listings of code. Instructions are those that objdump prints for the same bytes (binutils 2.40)."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from probescope.debuginfo.kallsyms import Kallsyms
from probescope.errors import UsageError
from probescope.views.annotate.body import Body, kernel_body
from probescope.views.annotate.disasm import decode
from probescope.views.annotate.hits import Function
from probescope.views.annotate.listing import Look, Sources, text
from probescope.views.code import File

# test %edi,%edi; jle 117a; mov 0x2ecc(%rip),%rax; jne 1149; ret; and a byte that begins nothing
CODE = bytes.fromhex("85ff 7e0a 488b05cc2e0000 75f3 c3 06")


def test_as_objdump() -> None:
    names = {0x115A: "<leaf+0x11>", 0x4020: "<x>"}
    found = decode(CODE, 0x1149, "x86_64", "att", lambda a: names.get(a, ""))
    assert [i.text for i in found] == [
        "test   %edi,%edi",
        "jle    1157",
        "mov    0x2ecc(%rip),%rax        # 4020 <x>",
        "jne    1149",
        "ret",
        "(bad)",
    ]
    assert [i.target for i in found] == [0, 0x1157, 0, 0x1149, 0, 0]
    assert decode(CODE, 0x1149, "x86_64", "intel")[2].text == "mov    rax,[rip+0x2ecc]        # 4020"


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    with pytest.raises(UsageError, match="iced-x86") as caught:
        decode(CODE, 0, "x86_64")
    assert caught.value.hints == ("pip install 'probescope[disasm]'",)


def test_other_processors_are_refused() -> None:
    with pytest.raises(UsageError, match="aarch64"):
        decode(CODE, 0, "aarch64")


def test_listing(tmp_path) -> None:
    """Source lines above their instructions, shares of the function, where jumps lead."""
    source = tmp_path / "a.c"
    source.write_text("int f(int n)\n{\n\tif (n > 0)\n\t\treturn x;\n}\n")
    lines = {0x1149: 3, 0x114B: 3, 0x114D: 4, 0x1154: 4}
    body = Body(CODE, 0x1149, "x86_64", lambda _: "", lambda a: (str(source), lines[a]) if a in lines else None)
    function = Function("f", "prog", None, 0x1149, 100, 4, {0x114D: [75, 3], 0x1154: [25, 1]})
    shown = [line.rstrip() for line in "".join(text(function, body, "cycles", Look(), Sources())).splitlines()]
    assert shown[0] == " Percent |\tSource code & Disassembly of prog for cycles (4 samples, percent: local period)"
    assert shown[2:] == [
        "         :   hottest instructions",
        "   75.00 :   114d:   mov    0x2ecc(%rip),%rax        # 4020 // a.c:4",
        "   25.00 :   1154:   jne    1149 // a.c:4",
        "         :",
        "         :   0000000000001149 <f>:",
        f"         :   {source}:3",
        "         : 3             if (n > 0)",
        "    0.00 : > 1149:   test   %edi,%edi",
        "    0.00 :   114b:   jle    1157",
        "         : 4                     return x;",
        "   75.00 :   114d:   mov    0x2ecc(%rip),%rax        # 4020",
        "   25.00 :   1154:   jne    1149",
        "    0.00 :   1156:   ret",
        "    0.00 : > 1157:   (bad)",
        "",
    ]


# --- the kernel


@pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("objdump") is None, reason="cc or objdump is not installed"
)
def test_code_of_the_kernel(tmp_path) -> None:
    """A program plays the kernel: its symbols were loaded elsewhere (KASLR), and when the recording was made, elsewhere
    again. The bytes are those that objdump finds at the symbol."""
    (tmp_path / "k.c").write_text(
        "int _text(int a) { return a * 3; }\nint twice(int a) { return a + a; }\nint main(void) { return twice(2); }\n"
    )
    build = ["cc", "-O1", "-fcf-protection=none", "-no-pie", "-o", "vmlinux", "k.c"]
    subprocess.run(build, check=True, cwd=tmp_path, timeout=300)
    symbols = [line.split() for line in _out("nm", str(tmp_path / "vmlinux")).splitlines()]
    placed = {name: int(address, 16) for address, kind, name in (s for s in symbols if len(s) == 3) if kind in "tT"}
    above, then = 0x1000000, 0x5000000
    text_ = "".join(f"{a + above:016x} t {n}\n" for n, a in sorted(placed.items(), key=lambda x: x[1]))
    start = placed["twice"] + then
    function = Function("twice", "[kernel.kallsyms]", None, start, 1, 1, {start + 1: [1, 1]})
    body = kernel_body(function, File(str(tmp_path / "vmlinux")), Kallsyms(text_.encode()), above)
    assert body.start == placed["twice"]
    assert body.name(placed["twice"] + 3) == "<twice+0x3>"
    shown = [i.text.split("#")[0].split() for i in decode(body.code, body.start, body.machine)]
    dumped = _out("objdump", "-d", "--no-show-raw-insn", "--disassemble=twice", str(tmp_path / "vmlinux"))
    theirs = [line.split("\t")[1].split("#")[0].split() for line in dumped.splitlines() if "\t" in line]
    assert shown[: len(theirs)] == theirs


def _out(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
