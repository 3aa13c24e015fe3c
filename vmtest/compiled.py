"""Kernels that no distribution builds: Debian's source package, the smallest configuration and a fragment on top.

Everything that booting needs is built in, so that there are no modules. Compiling takes some 10 minutes of two
processors, and happens once: the image stays in the cache.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from vmtest.errors import VmtestError
from vmtest.kernels import Kernel, cache
from vmtest.packages import dependencies, private_apt, run

NEEDED = {"flex": "flex", "bison": "bison", "bc": "bc", "pahole": "dwarves", "gcc": "gcc", "make": "make"}
HEADERS = {"/usr/include/gelf.h": "libelf-dev", "/usr/include/openssl/opensslv.h": "libssl-dev"}


def compile_kernel(kernel: Kernel, root: Path) -> None:
    """Image and list of modules below ``root``, laid out as a package's. Raises VmtestError."""
    lacking = [package for tool, package in NEEDED.items() if not shutil.which(tool)]
    lacking += [package for header, package in HEADERS.items() if not Path(header).exists()]
    if lacking:
        raise VmtestError(f"compiling kernel {kernel.name} needs more: apt-get install {' '.join(lacking)}")
    tree = source(kernel)
    configure(tree, Path(__file__).parent / kernel.fragment)
    make(tree, "bzImage", "modules_prepare")
    release = (tree / "include/config/kernel.release").read_text().strip()
    modules = root / "lib/modules" / release
    (modules / "kernel").mkdir(parents=True)
    (root / "boot").mkdir()
    shutil.copy(tree / "arch/x86/boot/bzImage", root / "boot" / f"vmlinuz-{release}")
    shutil.copy(tree / ".config", root / "boot" / f"config-{release}")
    shutil.copy(tree / "modules.builtin", modules / "modules.builtin")
    shutil.rmtree(tree.parent)  # three gigabytes that nobody needs any more


def source(kernel: Kernel) -> Path:
    """The source's folder, fetched and unpacked first where it is not there."""
    place = cache() / "source" / kernel.name
    found = sorted(place.glob("linux-source-*/Makefile"))
    if found:
        return found[0].parent
    place.mkdir(parents=True, exist_ok=True)
    options = private_apt(kernel.suite)
    run(["apt-get", *options, "-q", "update"], check=False)
    wanted = [p for p in dependencies(options, kernel.package) if p.startswith("linux-source-")]
    if not wanted:
        raise VmtestError(f"{kernel.suite} offers no {kernel.package}")
    run(["apt-get", *options, "-q", "download", wanted[0]], cwd=place)
    run(["dpkg-deb", "--extract", str(next(place.glob("*.deb"))), str(place)])
    run(["tar", "-xf", str(next(place.glob("usr/src/*.tar.xz"))), "-C", str(place)])
    shutil.rmtree(place / "usr")
    for package in place.glob("*.deb"):
        package.unlink()
    return source(kernel)


def configure(tree: Path, fragment: Path) -> None:
    """``tinyconfig`` with the fragment on top. Raises VmtestError where the kernel does not take a line of it."""
    make(tree, "tinyconfig")
    run(["scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment)], cwd=tree)
    make(tree, "olddefconfig")
    chosen = (tree / ".config").read_text()
    refused = [
        line for line in re.findall(r"^CONFIG_\w+=.*$", fragment.read_text(), re.MULTILINE) if line not in chosen
    ]
    refused = [line for line in refused if not line.endswith("=n")]
    if refused:
        raise VmtestError(f"this kernel cannot be configured so: {' '.join(refused)}")


def make(tree: Path, *targets: str) -> None:
    jobs = os.environ.get("PROBESCOPE_VMTEST_JOBS", "1")
    run(["nice", "-n", "10", "make", f"-j{jobs}", *targets], cwd=tree)
