"""Why a feature is not there, in words, and the ways to get it: build option, package, setting, privilege, hardware.

The kernel's answer decides whether it is there (kernel/features); its build configuration, where it can be read, only
tells the reason.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from probescope.frozen import dataclass
from probescope.kernel.features.answer import Answer

if TYPE_CHECKING:
    from probescope.kernel.features.table import Feature
    from probescope.kernel.privileges import Privileges

Kind = Literal["privilege", "sysctl", "mount", "boot", "config", "package", "kernel", "hardware", "other"]

PACKAGED = frozenset(
    """
    attach:fentry attach:fexit attach:modify_return attach:kprobe attach:kprobe_multi attach:kprobe_session attach:lsm
    attach:uprobe attach:uprobe_multi attach:uprobe_ref_ctr attach:iter attach:tracepoint attach:raw_tracepoint
    attach:tp_btf attach:perf_event ftrace:tracefs ftrace:instances ftrace:function ftrace:function_graph
    ftrace:filter_functions ftrace:hist ftrace:synthetic_events ftrace:snapshot ftrace:kprobe_events
    ftrace:uprobe_events ftrace:dynamic_events ftrace:stacktrace_trigger helper:get_func_arg isa:ksym kernel:btf
    kfunc:bpf_path_d_path map:ringbuf
    """.split()
)
"""What the kernels that distributions install by default have: tried on Debian's linux-image-amd64, 6.12."""

_DEBIAN = {"x86_64": "linux-image-amd64", "aarch64": "linux-image-arm64"}
_OPTION = re.compile(r"CONFIG_[A-Z0-9_]+")
_DENIED = (errno.EPERM, errno.EACCES)
_HARDWARE = ("a machine", "hardware", "an Intel machine")


@dataclass(frozen=True, slots=True)
class Remedy:
    kind: Kind
    text: str

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides besides the kernel's answer. ``config``: empty where it cannot be read."""

    privileges: Privileges
    config: Mapping[str, str]
    machine: str = "x86_64"

    def without(self, feature: Feature) -> tuple[str, ...]:
        """Options that the feature needs and the kernel was built without, as far as that is known."""
        wanted = _OPTION.findall(feature.get) if self.config else []
        return tuple(o for o in wanted if self.config.get(o) not in ("y", "m"))


def reason(feature: Feature, answer: Answer, c: Circumstances) -> str:
    """Why it is not there, or not known to be; empty for a yes."""
    if answer.yes:
        return ""
    without = c.without(feature)
    if without:
        return f"the kernel was built without {', '.join(without)}"
    if answer.errno in _DENIED:
        built = "; the kernel is built for it" if c.config and _OPTION.search(feature.get) else ""
        refused = "the kernel refuses it even to root" if answer.yes is False else "not permitted to try"
        return f"{refused} ({errno.errorcode[answer.errno]}){built}"
    return answer.reason


def remedies(feature: Feature, answer: Answer, c: Circumstances) -> tuple[Remedy, ...]:
    """Best first; empty for a yes, and where nothing is known to help."""
    if answer.yes:
        return ()
    without = c.without(feature)
    if without:
        package = _DEBIAN.get(c.machine, "linux-image")
        text = f"a distribution's standard kernel has it (Debian: {package})"
        packaged = [Remedy("package", text)] if feature.name in PACKAGED else []
        return (*packaged, Remedy("config", f"build the kernel with {', '.join(without)}"))
    if answer.errno in _DENIED:
        return _permission(feature, answer, c)
    return _by_table(feature, c)


def _permission(feature: Feature, answer: Answer, c: Circumstances) -> tuple[Remedy, ...]:
    if answer.yes is False:
        if c.privileges.lockdown not in ("", "none"):
            return (Remedy("boot", "boot with lockdown=none, or without Secure Boot"),)
        return (Remedy("boot", "a boot parameter, a container's or a hypervisor's policy forbids it"),)
    if feature.kind == "ftrace":
        return (Remedy("privilege", "run as root: tracefs is readable by root alone"),)
    if feature.kind == "perf":
        settings = Remedy("sysctl", "or sysctl kernel.perf_event_paranoid=1 for one's own processes")
        return (Remedy("privilege", "run as root, or with CAP_PERFMON"), settings)
    return (Remedy("privilege", "run as root, or with CAP_BPF and CAP_PERFMON"),)


def _by_table(feature: Feature, c: Circumstances) -> tuple[Remedy, ...]:
    """The table's own words, sorted by kind."""
    get = feature.get
    if get.startswith(_HARDWARE):
        return (Remedy("hardware", get),)
    if "sysctl" in get:
        return (Remedy("sysctl", get),)
    if "mount" in get:
        return (Remedy("mount", get),)
    version = feature.since.partition(" ")[0]
    if version and ("newer kernel" in get or not get):
        return (Remedy("kernel", f"Linux {version} or newer"),)
    if c.config and _OPTION.search(get):  # all of them are there: what is missing is something else
        return (Remedy("kernel", f"Linux {version} or newer"),) if version else ()
    return (Remedy("config" if _OPTION.search(get) else "other", get),) if get else ()
