"""What to type for the debug symbols of a file, by distribution."""

from __future__ import annotations

import pytest

from probescope.kernel.fake import FakeHost
from probescope.kernel.host import use_host
from probescope.kernel.packages import advice

LISTS = {
    "/var/lib/dpkg/info/dash.list": b"/.\n/bin\n/bin/dash\n",
    "/var/lib/dpkg/info/libc6:amd64.list": b"/usr/lib/x86_64-linux-gnu/libc.so.6\n",
    "/var/lib/dpkg/info/other.md5sums": b"/usr/bin/none\n",
}


@pytest.mark.parametrize(
    ("release", "path", "expected"),
    [
        ("ID=debian\n", "/usr/bin/dash", "apt install dash-dbgsym"),  # packages may say /bin where /usr/bin is meant
        ('ID=mint\nID_LIKE="ubuntu debian"\n', "/usr/lib/x86_64-linux-gnu/libc.so.6", "apt install libc6-dbg"),
        ("ID=debian\n", "/usr/bin/none", ""),
        ("ID=debian\n", "/usr/bin/das", ""),
        ("ID=fedora\n", "/usr/bin/x", "dnf debuginfo-install $(rpm -qf /usr/bin/x)"),
        ("ID=opensuse-leap\n", "/usr/bin/x", "zypper install $(rpm -qf --qf '%{NAME}' /usr/bin/x)-debuginfo"),
        ("ID=fedora\n", "/x; rm y", "dnf debuginfo-install $(rpm -qf '/x; rm y')"),  # paths are strangers' words
        ("ID=gentoo\n", "/usr/bin/x", ""),
        ("", "/usr/bin/dash", "apt install dash-dbgsym"),
    ],
)
def test_advice(release: str, path: str, expected: str) -> None:
    with use_host(FakeHost(files={"/etc/os-release": release.encode(), **LISTS})):
        assert advice([path]).get(path, "") == expected


def test_nothing_is_known() -> None:
    """Neither a release nor a package manager."""
    with use_host(FakeHost(files={})):
        assert advice(["/bin/x"]) == {}
        assert advice([]) == {}
