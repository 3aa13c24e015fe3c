"""Code that a process has mapped out of a zip archive."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from collect_run import run

CALL = """
import ctypes, mmap, sys
path, at = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
file = open(path, "rb")
size = len(file.read())
base = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file.fileno(), 0)
probed = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(base + at)
assert probed(41) == 42
"""


def test_probe_in_an_archive(tmp_path: Path) -> None:
    """The probe sits at the function's place in the archive, which is what the process runs."""
    (tmp_path / "lib.c").write_text("int probed(int a) { return a + 1; }")
    library = tmp_path / "lib.so"
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "lib.c")], check=True)
    archive, script = tmp_path / "app.zip", tmp_path / "call.py"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("about", "x" * 100)
        z.write(library, "lib/lib.so")
    script.write_text(CALL)
    symbols = subprocess.run(["nm", str(library)], check=True, capture_output=True, text=True).stdout
    at = archive.read_bytes().index(library.read_bytes()) + int(symbols.split(" T probed")[0].split("\n")[-1], 16)
    program = f'uprobe:"{archive}!/lib/lib.so":probed {{ printf("%d %s\\n", args.a, func); }}'
    done = run(program, "-q", "-c", f"{sys.executable} {script} {archive} {at}")
    assert done.lines == ["41 probed"], done.err
