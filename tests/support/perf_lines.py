"""Lines of perf script, without what two tools may say of one place in two ways."""

from __future__ import annotations

import re
import subprocess

#: What stands before a name: a sample's address (after its event, a colon and perhaps a weight), or a frame's tab.
PLACE = r"^(.*: +(?:\d{1,5} +)?[0-9a-f]{6,} |\t)"


def without_names(line: str) -> str:
    """Addresses of frames are of the file in older versions of perf, and of memory in newer ones. Among several names
    of one place perf's choice is another: what is compared is how far into it. perf makes names for jump tables
    (``strlen@plt``). Names of C++ have spaces (``std::basic_istream<char, std::char_traits<char> >::get(char&)``)."""
    line = re.sub(r"^\t\s*[0-9a-f]+ ", "\t", line.rstrip())
    line = re.sub(rf"{PLACE}[^\t]*@plt\+0x[0-9a-f]+ \(", r"\1[unknown] (", line)
    line = re.sub(rf"{PLACE}[^\t]+(\+0x[0-9a-f]+) \(", r"\1?\2 (", line)
    return re.sub(r" +", " ", line)


def report_table(*command: str) -> list[str]:
    """What a command prints as a report: without comments but for the heading and the numbers of samples, and without
    blanks at the end."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return [line for line in lines if line and (line[0] != "#" or line[2:3] in {"O", ".", "S", "E"})]
