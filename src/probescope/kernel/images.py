"""Files that hold the running kernel's code, or that of a release."""

from __future__ import annotations

KCORE = "/proc/kcore"


def kernel_images(release: str) -> list[str]:
    """Places to look at, the best first: debug packages of Debian and Fedora, a kernel's own build folder, and what
    the kernel shows of its memory, if it was built to (CONFIG_PROC_KCORE) and we may look (CAP_SYS_RAWIO)."""
    return [
        f"/usr/lib/debug/boot/vmlinux-{release}",
        f"/usr/lib/debug/lib/modules/{release}/vmlinux",
        f"/lib/modules/{release}/build/vmlinux",
        f"/boot/vmlinux-{release}",
        KCORE,
    ]
