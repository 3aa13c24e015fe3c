r"""What a control group's path says of who runs in it: a container of some runtime, or a unit of systemd.

    /system.slice/docker-<64 hex>.scope                                   docker, systemd driver
    /docker/<64 hex>                                                      docker, cgroupfs driver
    /machine.slice/libpod-<64 hex>.scope/container                        podman
    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/cri-containerd-<64 hex>.scope
    /kubepods/burstable/pod<uid>/<64 hex>                                 kubernetes, cgroupfs driver
    /lxc.payload.web, /lxc/web, /machine.slice/machine-web.scope          lxc, systemd-nspawn
    /system.slice/nginx.service, /user.slice/user-1000.slice/session-2.scope

Source: the runtimes' own defaults (runc/libcontainer/cgroups, containers/podman, cri-o, kubelet/cm).
"""

from __future__ import annotations

import re
from functools import cache

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Container:
    """``runtime``: docker, libpod, crio, cri-containerd, nerdctl, lxc, machine; ``unit`` for what is no container;
    empty for the root group and others. ``id``: 64 digits, where there is one; ``name``: as the path has it; ``pod``:
    the uid of the pod around it."""

    runtime: str
    name: str
    id: str = ""
    pod: str = ""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "scope": re.compile(r"(docker|libpod|crio|cri-containerd|containerd|nerdctl)-([0-9a-f]{64})(?:\.scope)?"),
        "hex": re.compile(r"[0-9a-f]{64}"),
        "pod": re.compile(r"(?:.*-)?pod([0-9a-f]{8}[-_][0-9a-f_-]+)(?:\.slice)?"),
        "lxc": re.compile(r"lxc\.payload\.(.+)"),
        "machine": re.compile(r"machine-(.+)\.scope|systemd-nspawn@(.+)\.service"),
        "escape": re.compile(r"\\x([0-9a-f]{2})"),
    }


def identify(path: str) -> Container:
    """The innermost container of a path, else its unit, else the path itself."""
    parts = [p for p in path.split("/") if p]
    pod = next((m[1].replace("_", "-") for p in reversed(parts) if (m := _patterns()["pod"].fullmatch(p))), "")
    for i in range(len(parts) - 1, -1, -1):
        found = _container(parts[i], parts[i - 1] if i else "", pod)
        if found is not None:
            return found
    units = [p for p in parts if p.endswith((".service", ".scope", ".socket", ".mount", ".swap"))]
    slices = [p for p in parts if p.endswith(".slice")]
    unit = next(iter(units[::-1] or slices[::-1]), "")
    return Container("unit", _unescaped(unit)) if unit else Container("", path or "/")


def _container(part: str, parent: str, pod: str) -> Container | None:
    known = _patterns()
    if m := known["scope"].fullmatch(part):
        return Container(m[1], m[2][:12], m[2], pod)
    if known["hex"].fullmatch(part):
        parents = {"docker": "docker", "libpod_parent": "libpod"}
        return Container(parents.get(parent, "cri-containerd" if pod else ""), part[:12], part, pod)
    if m := known["lxc"].fullmatch(part):
        return Container("lxc", m[1])
    if parent == "lxc":
        return Container("lxc", part)
    if m := known["machine"].fullmatch(part):
        return Container("machine", _unescaped(m[1] or m[2]))
    return None


def _unescaped(name: str) -> str:
    r"""As systemd writes other characters: ``\x2d``."""
    return _patterns()["escape"].sub(lambda m: chr(int(m[1], 16)), name)
