"""``probescope annotate`` beside ``perf annotate --stdio``, which has objdump decode: the same instructions, with the
same shares."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    any(shutil.which(p) is None for p in ("perf", "cc", "objdump")),
    reason="perf, objdump or a C compiler is not installed",
)
SOURCE = """
volatile unsigned long sum;
double scale = 1.5;
__attribute__((noinline)) unsigned long busy(unsigned long n) {
    unsigned long k = 0;
    for (unsigned long i = 0; i < n; i++) {
        sum += i * sum;
        if (sum & 4) k ^= sum >> 3;
        else k += (unsigned long)(scale * (double)i);
    }
    return k;
}
int main(int argc, char **argv) { for (int i = 0; i < 40000; i++) busy(1000); return 0; }
"""
LINE = re.compile(r"^ +([\d.]+) : [> ] *([0-9a-f]+): +(.*?)(?: +//.*)?$")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("annotate")
    (folder / "work.c").write_text(SOURCE)
    subprocess.run(["cc", "-O2", "-g", "-o", "work", "work.c"], check=True, cwd=folder, timeout=300)
    record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "4000", "-o", "perf.data", "./work"]
    subprocess.run(record, check=True, cwd=folder, timeout=300, capture_output=True)
    return str(folder / "perf.data")


def lines(command: list[str]) -> dict[int, tuple[str, str]]:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    listing = done.stdout.split(">:\n", 1)[1]
    found = [LINE.match(line) for line in listing.splitlines()]
    return {int(m[2], 16): (m[1], re.sub(r" +", " ", m[3])) for m in found if m}


@pytest.mark.parametrize("style", ["att", "intel"])
def test_the_same_instructions_and_shares(recorded: str, style: str) -> None:
    """Intel operands of memory have their size in objdump's words, which is left out here: shares are compared."""
    base = ["annotate", "-i", recorded, "busy", "--stdio", "-M", style]
    ours = lines([sys.executable, "-m", "probescope", *base])
    theirs = lines(["perf", *base])
    assert len(ours) > 15
    assert {a: share for a, (share, _) in ours.items()} == {a: share for a, (share, _) in theirs.items()}
    if style == "att":
        # names of what has no symbol and shifts by one are told in other words
        other = re.compile(r" +#.*|\$0x1,(?=%\w+$)")
        told = [{a: other.sub("", t) for a, (_, t) in x.items()} for x in (ours, theirs)]
        assert told[0] == told[1]


def test_heaviest_functions(recorded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "annotate", "-i", recorded, "--percent-type", "global"],
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "<busy>:" in done.stdout
    assert "sum += i * sum;" in done.stdout


def test_what_was_not_hit(recorded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "annotate", "-i", recorded, "nothing"],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "no samples in nothing" in done.stderr
