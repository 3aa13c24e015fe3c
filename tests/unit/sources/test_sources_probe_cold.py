"""Functions in two parts: what is rare lies elsewhere, with a frame of its own from its first instruction on."""

from __future__ import annotations

import re
import subprocess

from probescope.model.arch import X86_64
from probescope.sources.probe_debug import DebugPlaces
from probescope.sources.probe_images import KernelImage, open_image

SOURCE = """
#include <stdlib.h>
__attribute__((cold, noreturn, noinline)) static void stop(const char *why) { exit(why[0]); }
__attribute__((noinline)) int fill(char *to, int n)
{
	char room[64];
	for (int i = 0; i < n; i++) room[i & 63] = to[i];
	if (__builtin_expect(room[n & 63] == 'x', 0)) stop(room);
	return room[(n + 1) & 63];
}
int _text(int argc, char **argv) { return fill(argv[0], argc); }
int main(int argc, char **argv) { return _text(argc, argv); }
"""


def test_frames_of_the_rare_part_are_found(tmp_path):
    """As the kernel's file has it: .debug_frame alone. What readelf says of the part is what is expected."""
    (tmp_path / "f.c").write_text(SOURCE)
    how = "-g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -freorder-blocks-and-partition -no-pie".split()
    subprocess.run(["gcc", *how, "-o", tmp_path / "f", tmp_path / "f.c"], check=True)
    symbols = subprocess.run(["nm", tmp_path / "f"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^([0-9a-f]+) t fill\.cold$", symbols, re.MULTILINE)
    assert found is not None
    cold = int(found[1], 16)
    told = subprocess.run(
        ["readelf", "--debug-dump=frames-interp", tmp_path / "f"], capture_output=True, text=True, check=True
    ).stdout
    wanted = re.search(rf"pc={cold:016x}\.\..*\n.*\n{cold:016x} rsp\+(\d+)", told)
    assert wanted is not None
    image = open_image(str(tmp_path / "f"), X86_64, "")
    assert isinstance(image, KernelImage)
    debug = DebugPlaces(image.dwarf, image)
    image.scopes = debug.scopes
    frame = image.cfa(cold)
    assert frame is not None
    assert (frame.register, frame.offset) == ("sp", int(wanted[1]))
