"""Memory accesses and branches as text: what perf 6.12 printed of the same numbers."""

from __future__ import annotations

import pytest

from probescope.views.script_branches import flags
from probescope.views.script_memory import LONGEST, told

#: Printed by `perf script -F data_src` (6.12) of files made with these numbers; blanks at the end left out.
PRINTED = """\
               0 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
               1 |OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
               2 |OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
              10 |OP EXEC|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
             100 |OP No|LVL L1 |SNP N/A|TLB N/A|LCK No|BLK  N/A
         1000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A
         2000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK Yes|BLK  N/A
       a00000000 |OP No|LVL L2 MHB |SNP N/A|TLB N/A|LCK No|BLK  N/A
       e00000000 |OP No|LVL Unknown level 7 |SNP N/A|TLB N/A|LCK No|BLK  N/A
      1e00000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
      3000000000 |OP No|LVL Remote Uncached |SNP N/A|TLB N/A|LCK No|BLK  N/A
      c000000000 |OP No|LVL N/A|SNP Fwd or Peer|TLB N/A|LCK No|BLK  N/A
     60000000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  Data Addr
     70000000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
     80000000000 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A
3b5f3d86268ecc45 |OP N/A|LVL (null) L3 hit|SNP N/A or HitM or Peer|TLB N/A or L1|LCK Yes|BLK  N/A
f51e8722c21b6092 |OP LOAD|LVL Remote L1 miss|SNP N/A or None|TLB L2 or Walker|LCK Yes|BLK  N/A
28ce6f2410645d51 |OP N/A|LVL Remote (null) L2 hit|SNP Hit or Miss|TLB N/A miss|LCK No|BLK  N/A
 a40040300400800 |OP No|LVL L1 |SNP Miss|TLB Fault|LCK No|BLK  Addr
 200840080900606 |OP LOAD|LVL LFB/MAB or L2 |SNP None or HitM|TLB Walker|LCK No|BLK  Addr
97b750923ceb3ffd |OP N/A|LVL node, same socket CXL hit|SNP N/A or Hit or Miss or HitM or Peer|TLB N
e8a8529f035efa25 |OP N/A|LVL LFB/MAB or L3 or Local RAM or Remote RAM (1 hop) or Remote RAM (2 hops"""


@pytest.mark.parametrize("line", PRINTED.splitlines(), ids=lambda line: line.split()[0])
def test_what_an_access_found(line: str) -> None:
    """Every part of the number, and the length at which perf cuts."""
    found = told(int(line.split()[0], 16))
    assert found.rstrip() == line
    assert len(found) <= LONGEST


#: Printed by `perf script -F brstack` (6.12): the flags of an entry, and what follows its addresses.
BRANCHES = {
    2 | 176 << 4 | 1 << 3 | 3 << 24: "/P/-/A/176//SPEC_CORRECT_PATH",
    1 | 63 << 4 | 12 << 20 | 2 << 24: "/M/-/-/63/IRQ/NON_SPEC_CORRECT_PATH",
    2 | 1 << 2 | 196 << 4 | 12 << 20: "/P/X/-/196/IRQ/-",
    2 | 14 << 20 | 2 << 24: "/P/-/-/0/NO_TX/NON_SPEC_CORRECT_PATH",
    2 | 15 << 20 | 3 << 24: "/P/-/-/0/FAULT_ALGN/SPEC_CORRECT_PATH",
    2 | 15 << 20 | 3 << 24 | 7 << 26: "/P/-/-/0/ARCH_5/SPEC_CORRECT_PATH",
    2 | 15 << 20 | 3 << 24 | 8 << 26: "/P/-/-/0/(null)/SPEC_CORRECT_PATH",
    0: "/-/-/-/0//-",
}


@pytest.mark.parametrize(("word", "text"), BRANCHES.items(), ids=BRANCHES.values())
def test_flags_of_branches(word: int, text: str) -> None:
    """Their bits, types and what is known of speculation."""
    assert flags(word) == text
