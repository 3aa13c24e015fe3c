"""Who runs in a control group, by its path: forms as the runtimes make them, written down from their documentation."""

import pytest

from probescope.model.containers import Container, identify

ID = "0123456789abcdef" * 4
POD = "1f6c0e5b-2d4c-4a0e-9c2b-0123456789ab"

PATHS = {
    f"/system.slice/docker-{ID}.scope": Container("docker", ID[:12], ID),
    f"/docker/{ID}": Container("docker", ID[:12], ID),
    f"/docker/{ID}/init": Container("docker", ID[:12], ID),
    f"/machine.slice/libpod-{ID}.scope/container": Container("libpod", ID[:12], ID),
    f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope": Container("libpod", ID[:12], ID),
    f"/libpod_parent/libpod-{ID}": Container("libpod", ID[:12], ID),
    "/kubepods.slice/kubepods-burstable.slice/"
    f"kubepods-burstable-pod{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope": Container(
        "cri-containerd", ID[:12], ID, POD
    ),
    f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/crio-{ID}.scope": Container("crio", ID[:12], ID, POD),
    f"/kubepods/besteffort/pod{POD}/{ID}": Container("cri-containerd", ID[:12], ID, POD),
    f"/ecs/task/{ID}": Container("", ID[:12], ID),
    f"/system.slice/docker-{ID}.scope/kubelet.slice/docker-{ID[::-1]}.scope": Container(
        "docker", ID[::-1][:12], ID[::-1]
    ),
    "/lxc.payload.web": Container("lxc", "web"),
    "/lxc/web/system.slice": Container("lxc", "web"),
    r"/machine.slice/machine-my\x2dbox.scope": Container("machine", "my-box"),
    "/machine.slice/systemd-nspawn@web.service": Container("machine", "web"),
    "/system.slice/nginx.service": Container("unit", "nginx.service"),
    "/system.slice/nginx.service/worker": Container("unit", "nginx.service"),
    "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope": Container("unit", "app-x.scope"),
    "/user.slice/user-1000.slice": Container("unit", "user-1000.slice"),
    "/": Container("", "/"),
    "/my/own": Container("", "/my/own"),
    f"/system.slice/docker-{ID[:20]}.scope": Container("unit", f"docker-{ID[:20]}.scope"),
}


@pytest.mark.parametrize("path", PATHS)
def test_who_runs_in_a_group(path):
    assert identify(path) == PATHS[path]
