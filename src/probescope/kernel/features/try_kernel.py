"""``kernel:``: what the kernel tells about itself."""

from __future__ import annotations

import errno
from collections.abc import Callable

from probescope.kernel.bpf import enable_stats, object_ids
from probescope.kernel.features.answer import No, Unknown
from probescope.kernel.features.btf_ids import TYPEDEF, type_id
from probescope.kernel.features.own_btf import own_btf
from probescope.kernel.host import host
from probescope.kernel.machine import kernel_config


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    if what not in _ATTEMPTS:
        raise No("no such kernel feature")
    _ATTEMPTS[what]()


def _btf() -> None:
    if not type_id("pid_t", TYPEDEF):
        raise No("the kernel's BTF has no pid_t")


def _module_btf() -> None:
    h = host()
    if not h.exists("/sys/kernel/btf"):
        raise No("no folder /sys/kernel/btf", errno.ENOENT)
    names = set(h.listdir("/sys/kernel/btf"))
    if names - {"vmlinux"}:
        return
    modules = h.listdir("/sys/module") if h.exists("/sys/module") else []
    if any(h.exists(f"/sys/module/{m}/coresize") for m in modules):
        raise No("no loaded module has BTF")
    raise Unknown("no module is loaded")


def _kallsyms() -> None:
    fd = host().open("/proc/kallsyms")
    try:
        head = host().read(fd, 65536)
    finally:
        host().close(fd)
    addresses = {line.split(b" ", 1)[0] for line in head.split(b"\n")[:-1]}
    if not any(a.strip(b"0") for a in addresses):
        raise No("addresses are hidden: kernel.kptr_restrict, or no CAP_SYSLOG")


def _config() -> None:
    if not kernel_config():
        raise No("neither /proc/config.gz nor a file in /boot")


def _ids() -> None:
    next(object_ids("btf"), None)
    next(object_ids("prog"), None)


def _stats() -> None:
    enable_stats().close()


def _own_btf() -> None:
    own_btf().close()


def _bpffs() -> None:
    text = host().read_text("/proc/filesystems", 1 << 16)
    if "bpf" not in text.split():
        raise No("not in /proc/filesystems")


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "btf": _btf,
    "module_btf": _module_btf,
    "kallsyms": _kallsyms,
    "config": _config,
    "object_ids": _ids,
    "bpf_stats": _stats,
    "btf_load": _own_btf,
    "bpffs": _bpffs,
}
