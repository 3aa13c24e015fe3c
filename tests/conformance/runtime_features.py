"""What cases may require, and what of ours that is. ``python -m probescope doctor`` says what this kernel has."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

ALWAYS, NEVER = "always", "never"

FEATURES = {
    "aot": NEVER,  # programs compiled ahead of time: not ours
    "blazesym": ALWAYS,  # source lines in user stacks
    "btf": "kernel:btf",
    "dpath": "helper:d_path",
    "dwarf": ALWAYS,
    "dwunwind": ALWAYS,
    "fentry": "attach:fentry",
    "get_func_ip": "helper:get_func_ip",
    "get_tai_ns": "helper:ktime_get_tai_ns",
    "iter": "attach:iter",
    "jiffies64": "helper:jiffies64",
    "kprobe_multi": "attach:kprobe_multi",
    "kprobe_session": "attach:kprobe_session",
    "libpath_resolv": ALWAYS,
    "lookup_percpu_elem": "helper:map_lookup_percpu_elem",
    "loop": "helper:loop",
    "probe_read_kernel": "helper:probe_read_kernel",
    "signal": "helper:send_signal",
    "skboutput": "helper:skb_output",
    "uprobe_multi": "attach:uprobe_multi",
}
"""Name in the suite to a name of ours."""


@cache
def features(tool: str) -> dict[str, bool]:
    command = [sys.executable, "-m", "probescope", "doctor", "-f", "json"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    here = {f["name"]: f["answer"] == "yes" for f in found["features"]}
    return {name: here.get(ours, ours == ALWAYS) for name, ours in FEATURES.items()}
