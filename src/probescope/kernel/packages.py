"""Which package of the distribution brought a file, and what holds its debug symbols.

    /var/lib/dpkg/info/PACKAGE[:ARCH].list     paths, one a line          Debian, Ubuntu
    /etc/os-release                            ID, ID_LIKE                which distribution

Source: dpkg(1); os-release(5).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from probescope.kernel.host import host

_LISTS = "/var/lib/dpkg/info"
_OTHERS = {"libc6": "libc6-dbg"}
"""Whose debug symbols are not in PACKAGE-dbgsym."""
_ADVICE = (
    (("fedora", "rhel", "centos"), "dnf debuginfo-install $(rpm -qf {path})"),
    (("suse", "opensuse"), "zypper install $(rpm -qf --qf '%{{NAME}}' {path})-debuginfo"),
    (("arch",), "--debuginfod=https://debuginfod.archlinux.org"),
)


def advice(paths: Iterable[str]) -> dict[str, str]:
    """By path: what to type for its debug symbols; a path that nobody knows is missing."""
    wanted = list(paths)
    if not wanted:
        return {}
    family = _family()
    if family & {"debian", "ubuntu"} or not family:
        found = _packages(wanted)
        return {path: f"apt install {_OTHERS.get(p, p + '-dbgsym')}" for path, p in found.items()}
    text = next((text for names, text in _ADVICE if family & set(names)), "")
    return {path: text.format(path=shlex.quote(path)) for path in wanted} if text else {}


def _family() -> set[str]:
    try:
        lines = host().read_text("/etc/os-release").splitlines()
    except OSError:
        return set()
    values = [line.partition("=")[2].strip("\"'") for line in lines if line.startswith(("ID=", "ID_LIKE="))]
    return {word for value in values for word in value.lower().replace("-", " ").split()}


def _packages(paths: list[str]) -> dict[str, str]:
    """Where / and /usr are one, packages may name either."""
    try:
        names = [n for n in host().listdir(_LISTS) if n.endswith(".list")]
    except OSError:
        return {}
    lines = {p: [b"\n" + q.encode("utf-8", "surrogateescape") + b"\n" for q in _spellings(p)] for p in paths}
    found: dict[str, str] = {}
    for name in sorted(names):
        try:
            text = b"\n" + host().read_bytes(f"{_LISTS}/{name}")
        except OSError:
            continue
        for path in [p for p, spelled in lines.items() if any(s in text for s in spelled)]:
            found[path] = name.removesuffix(".list").partition(":")[0]
            del lines[path]
        if not lines:
            break
    return found


def _spellings(path: str) -> tuple[str, ...]:
    return (path, path.removeprefix("/usr")) if path.startswith("/usr/") else (path, "/usr" + path)
