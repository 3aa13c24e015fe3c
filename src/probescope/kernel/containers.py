"""Names of containers: what the runtimes keep about them in files, found by the id in a control group's path.

    docker       /var/lib/docker/containers/ID/config.v2.json                        "Name"
    podman       /var/lib/containers/storage/overlay-containers/containers.json      "names"
    containerd   /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json   annotations
    cri-o        /run/containers/storage/overlay-containers/ID/userdata/config.json  annotations

No daemon is asked, nothing is started; where a file cannot be read the first 12 digits of the id are the name.
"""

from __future__ import annotations

from typing import Any

from probescope.kernel.cgroups import cgroup_path
from probescope.kernel.host import host
from probescope.model.containers import Container, identify

_LONGEST = 4 << 20
_ANNOTATIONS = (
    ("io.kubernetes.cri.container-name", "io.kubernetes.cri.sandbox-name"),
    ("io.kubernetes.container.name", "io.kubernetes.pod.name"),
    ("nerdctl/name", ""),
)
_CONFIGS = (
    "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
    "/run/containerd/io.containerd.runtime.v2.task/default/{}/config.json",
    "/run/containers/storage/overlay-containers/{}/userdata/config.json",
)


def container_name(number: int) -> str:
    """Of a group by its id: the container's name (``pod/container`` in Kubernetes), else the unit of systemd, ``/``
    for the root group, ``unknown:ID`` if there is no such group any more."""
    known: dict[int, str] = host().cache.setdefault("container_names", {})
    if number not in known:
        path = cgroup_path(number)
        if not path:
            return f"unknown:{number}"
        known[number] = _named(identify(path))
    return known[number]


def _named(c: Container) -> str:
    if not c.id:
        return c.name
    name = _of_docker(c.id) if c.runtime in ("docker", "") else ""
    name = name or (_of_podman(c.id) if c.runtime in ("libpod", "") else "") or _of_config(c.id)
    if name:
        return name
    return f"pod{c.pod[:8]}/{c.name}" if c.pod else c.name


def _of_docker(identity: str) -> str:
    found = _json(f"/var/lib/docker/containers/{identity}/config.v2.json")
    name = found.get("Name") if isinstance(found, dict) else None
    return name.lstrip("/") if isinstance(name, str) else ""


def _of_podman(identity: str) -> str:
    for name in ("containers.json", "volatile-containers.json"):
        found = _json(f"/var/lib/containers/storage/overlay-containers/{name}")
        for entry in found if isinstance(found, list) else []:
            names = entry.get("names") if isinstance(entry, dict) and entry.get("id") == identity else None
            if isinstance(names, list) and names and isinstance(names[0], str):
                return names[0]
    return ""


def _of_config(identity: str) -> str:
    """By the annotations of the OCI bundle."""
    for place in _CONFIGS:
        found = _json(place.format(identity))
        notes = found.get("annotations") if isinstance(found, dict) else None
        if not isinstance(notes, dict):
            continue
        for key, around in _ANNOTATIONS:
            name, pod = notes.get(key), notes.get(around)
            if isinstance(name, str) and name:
                return f"{pod}/{name}" if isinstance(pod, str) and pod else name
    return ""


def _json(path: str) -> Any:
    import json

    try:
        return json.loads(host().read_text(path, _LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
