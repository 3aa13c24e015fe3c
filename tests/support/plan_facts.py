"""Facts for explanations, without a machine: a kernel that lacks what a test says, a user with or without rights."""

from __future__ import annotations

from probescope.kernel.privileges import Privileges
from probescope.model.features import Features
from probescope.plan.costs import Costs
from probescope.plan.explain_rows import Facts
from probescope.plan.request import PlanRequest

ROOT = Privileges(0, frozenset({"sys_admin", "bpf", "perfmon"}), "", 2, 2, 0)
NOBODY = Privileges(65534, frozenset(), "", 2, 2, 0)
EVENTS = (
    "sched:sched_switch",
    "syscalls:sys_enter_read",
    "syscalls:sys_exit_read",
    "syscalls:sys_enter_openat",
    "syscalls:sys_enter_newfstat",
    "tcp:tcp_retransmit_skb",
    "tcp:tcp_probe",
    "ext4:ext4_sync_file_enter",
)


class Offers(Features):
    """Everything but ``no`` and ``unknown``."""

    __slots__ = ("absent", "unsure")

    def __init__(self, no=(), unknown=()):
        object.__setattr__(self, "absent", frozenset(no))
        object.__setattr__(self, "unsure", frozenset(unknown))

    def state(self, name):
        return "no" if name in self.absent else "unknown" if name in self.unsure else "yes"


def facts(no=(), unknown=(), privileges=ROOT, costs=None, **request):
    return Facts(
        request=PlanRequest(Offers(no, unknown), **request),
        privileges=privileges,
        costs=costs or Costs(),
        events=lambda: EVENTS,
        get=lambda name: {"attach:kprobe": "CONFIG_KPROBES"}.get(name, ""),
    )


NO_FUNCTIONS = (
    "attach:kprobe",
    "attach:kprobe_multi",
    "attach:fentry",
    "ftrace:function",
    "ftrace:function_graph",
    "ftrace:kprobe_events",
)
"""As on a small virtual machine's kernel."""
