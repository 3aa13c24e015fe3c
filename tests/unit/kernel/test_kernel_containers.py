"""Names of containers out of the files of their runtimes; damaged files leave the id."""

import json

import pytest

from probescope.kernel import containers
from probescope.kernel.cgroups import remember
from probescope.kernel.containers import container_name
from probescope.kernel.host import host

ID = "0123456789abcdef" * 4
CONFIG = "config.json"
KUBE = {"annotations": {"io.kubernetes.cri.container-name": "app", "io.kubernetes.cri.sandbox-name": "web-1"}}
FILES = {
    "docker": (
        f"/system.slice/docker-{ID}.scope",
        f"/var/lib/docker/containers/{ID}/config.v2.json",
        {"Name": "/shop"},
        "shop",
    ),
    "podman": (
        f"/machine.slice/libpod-{ID}.scope",
        "/var/lib/containers/storage/overlay-containers/containers.json",
        [{"id": "other", "names": ["no"]}, {"id": ID, "names": ["db"]}],
        "db",
    ),
    "containerd": (
        f"/kubepods.slice/kubepods-pod1f6c0e5b_2d4c.slice/cri-containerd-{ID}.scope",
        f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json",
        KUBE,
        "web-1/app",
    ),
    "unknown docker": (f"/docker/{ID}", "", None, ID[:12]),
    "unknown pod": (f"/kubepods/pod1f6c0e5b-2d4c-4a0e/{ID}", "", None, f"pod1f6c0e5b/{ID[:12]}"),
    "not even an object": (f"/docker/{ID}", f"/var/lib/docker/containers/{ID}/config.v2.json", [1], ID[:12]),
    "a wrong type": (f"/docker/{ID}", f"/var/lib/docker/containers/{ID}/config.v2.json", {"Name": 7}, ID[:12]),
    "unit": ("/system.slice/nginx.service", "", None, "nginx.service"),
}


@pytest.mark.parametrize("what", FILES)
def test_names(what, monkeypatch):
    path, file, content, name = FILES[what]

    def read(asked):
        return json.loads(json.dumps(content)) if asked == file else None

    monkeypatch.setattr(containers, "_json", read)
    number = 1 << 60 | hash(what) & 0xFFFF
    remember(number, path)
    try:
        assert container_name(number) == name
    finally:
        host().cache.pop("container_names", None)
        host().cache["cgroup_paths"].pop(number, None)


def test_groups_that_are_not_there():
    """Their number is all that is known."""
    assert container_name((1 << 63) + 5) == f"unknown:{(1 << 63) + 5}"
