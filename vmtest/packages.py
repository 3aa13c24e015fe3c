"""Kernel packages: resolve the newest, download, unpack. The host's own apt state stays as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmtest.errors import VmtestError
from vmtest.kernels import Kernel, cache

#: The image, the modules, and the list of what is built in, of a kernel that comes in parts.
PARTS = ("linux-binary-", "linux-modules-", "linux-base-")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A kernel on disk: its release (as ``uname -r`` says it), its image and its modules."""

    release: str
    image: Path
    modules: Path


def installed(kernel: Kernel) -> Unpacked | None:
    """The kernel from the cache, or None."""
    folder = cache() / "kernels" / kernel.name
    return locate(folder) if folder.is_dir() else None


def ensure(kernel: Kernel, *, refresh: bool = False) -> Unpacked:
    """The kernel from the cache, fetched first if it is not there. ``refresh`` asks the mirror for a newer one."""
    found = installed(kernel)
    if found and not refresh:
        return found
    folder = cache() / "kernels" / kernel.name
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{kernel.name}-") as temporary:
        root = Path(temporary) / "root"
        if kernel.fragment:
            from vmtest.compiled import compile_kernel

            compile_kernel(kernel, root)
        else:
            for package in fetch(kernel, Path(temporary)):
                run(["dpkg-deb", "--extract", str(package), str(root)])
        if not locate(root):
            raise VmtestError(f"the packages of kernel {kernel.name} hold no kernel image with modules")
        shutil.rmtree(folder, ignore_errors=True)
        root.rename(folder)
    unpacked = locate(folder)
    assert unpacked is not None
    if kernel.fragment:
        return unpacked  # there are no modules
    # tests inside may load modules by name; depmod is not on every machine and not needed to boot
    if shutil.which("depmod", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"):
        top = unpacked.modules.parents[2]  # depmod appends lib/modules/RELEASE, with or without usr before it
        if not (top / "lib").exists():
            (top / "lib").symlink_to("usr/lib")
        run(["depmod", "-b", str(top), unpacked.release])
    return unpacked


def locate(root: Path) -> Unpacked | None:
    """Image and modules below an unpacked root; newer packages keep both under /usr/lib/modules."""
    for parent in (root / "lib/modules", root / "usr/lib/modules"):
        for modules in sorted(parent.glob("*/")):
            for image in (root / "boot" / f"vmlinuz-{modules.name}", modules / "vmlinuz"):
                if image.is_file() and (modules / "kernel").is_dir():
                    return Unpacked(modules.name, image, modules)
    return None


def fetch(kernel: Kernel, into: Path) -> list[Path]:
    """Download the packages that hold image and modules. In 7.x the image package only depends on them."""
    options = private_apt(kernel.suite)
    update = run(["apt-get", *options, "-q", "update"], check=False)
    wanted = [p for p in dependencies(options, kernel.package) if p.startswith("linux-image-")]
    if not wanted:
        raise VmtestError(
            f"{kernel.suite} offers no {kernel.package}; apt-get update said:\n{update.stderr.strip() or update.stdout}"
        )
    wanted += [p for p in dependencies(options, wanted[0]) if p.startswith(PARTS)]
    run(["apt-get", *options, "-q", "download", *wanted], cwd=into)
    return sorted(into.glob("*.deb"))


def dependencies(options: list[str], package: str) -> list[str]:
    """Names in the Depends field of the newest version of a package; none if there is no such package."""
    shown = run(["apt-cache", *options, "show", "--no-all-versions", package], check=False).stdout
    match = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
    return [re.split(r"[ (:|]", entry.strip())[0] for entry in match[1].split(",")] if match else []


def private_apt(suite: str) -> list[str]:
    """Options that give apt lists, cache and sources of its own for one suite."""
    state = cache() / "apt" / suite
    for folder in ("lists/partial", "archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text("".join(f"{line}\n" for line in sources(suite)))
    settings = {
        "Dir::Etc::sourcelist": str(state / "sources.list"),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": str(state),
        "Dir::State::Lists": str(state / "lists"),
        "Dir::State::status": str(state / "status"),
        "Dir::Cache": str(state),
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root",  # the private folders may be closed to apt's own user
        "Acquire::Languages": "none",
    }
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def sources(suite: str) -> Iterator[str]:
    """Lines of sources.list: the mirrors that this host uses already, another suite."""
    main, security = mirrors()
    signed = f"[signed-by={KEYRING}] " if Path(KEYRING).exists() else ""
    yield f"deb {signed}{main} {suite} main"
    if suite != "sid":
        yield f"deb {signed}{security} {suite}-security main"


def mirrors() -> tuple[str, str]:
    """The addresses of this host's Debian mirror and of its security mirror."""
    chosen = os.environ.get("PROBESCOPE_VMTEST_MIRROR")
    if chosen:
        return chosen, f"{chosen.rstrip('/')}-security"
    shape = "$(LABEL) $(REPO_URI)"
    lines = run(["apt-get", "indextargets", "--format", shape, "Created-By: Packages"]).stdout.splitlines()
    found = dict(reversed([(label, uri) for label, _, uri in (line.partition(" ") for line in lines)]))
    if "Debian" not in found:
        raise VmtestError(
            "this host's apt knows no Debian mirror (run apt-get update first), or set PROBESCOPE_VMTEST_MIRROR to one"
        )
    return found["Debian"], found.get("Debian-Security", f"{found['Debian'].rstrip('/')}-security")


def run(command: list[str], *, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise VmtestError(f"{command[0]} is not on this machine: kernels come as Debian packages through apt") from None
    if check and done.returncode:
        raise VmtestError(f"{' '.join(command[:1])} failed with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done
