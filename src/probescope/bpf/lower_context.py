"""Facts of the moment: who runs, where, when.

What cannot change while the program runs is asked once and kept (``Lower.once``).
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import copy
from probescope.bpf.lower_vars import FRAME_SITE, captured_frame
from probescope.bpf.pieces import GLOBALS
from probescope.bpf.unit import GLOBAL_START, GLOBAL_TAI, GLOBAL_WALL
from probescope.ir import expr as x

COMM = 16


def value(l: Lower, e: x.Context) -> Reg:
    """Everything but ``comm``."""
    if e.name in _LASTING:
        reg: Reg = l.once((e.name, e.arg), lambda: _LASTING[e.name](l, e.arg))
        return reg
    return _PASSING[e.name](l, e.arg)


def ask(l: Lower, helper: str) -> Reg:
    """A helper without arguments whose answer does not change."""
    reg: Reg = l.once(helper, lambda: l.b.call(helper))
    return reg


# --- tasks ------------------------------------------------------------------------------------------------------------


def _ids(l: Lower, arg: str) -> Reg:
    """Process in the upper half, thread in the lower."""
    space = l.options.namespace if arg == "curr_ns" else None
    if space is None:
        return ask(l, "get_current_pid_tgid")
    reg: Reg = l.once("ns_pid_tgid", lambda: _ids_in_namespace(l, *space))
    return reg


def _ids_in_namespace(l: Lower, device: int, inode: int) -> Reg:
    """bpf_get_ns_current_pid_tgid (5.7) fills { u32 pid (thread), u32 tgid (process) }; zeros for tasks outside."""
    l.require("helper:get_ns_current_pid_tgid", "pid in a namespace")
    spot = l.temp(8)
    l.b.call("get_ns_current_pid_tgid", l.b.const(device), l.b.const(inode), l.address(spot), l.b.const(8))
    return l.b.load(spot.base, spot.off, 8)  # little-endian: tgid is the upper half


def tgid(l: Lower, arg: str = "") -> Reg:
    reg: Reg = l.once(("tgid", arg), lambda: l.b.alu_imm("shr", _ids(l, arg), 32))
    return reg


def seen_tgid(l: Lower) -> Reg:
    """The process as our own /proc calls it: names are found there. 0 for one outside of our namespace, which has no
    number there."""
    known = l.options.namespace is not None and not l.features.lacks("helper:get_ns_current_pid_tgid")
    return tgid(l, "curr_ns" if known else "")


def _tid(l: Lower, arg: str) -> Reg:
    return l.b.zext(_ids(l, arg), 32)


def _uid(l: Lower, _arg: str) -> Reg:
    return l.b.zext(ask(l, "get_current_uid_gid"), 32)


def _gid(l: Lower, _arg: str) -> Reg:
    return l.b.alu_imm("shr", ask(l, "get_current_uid_gid"), 32)


def comm_into(l: Lower, e: x.Context, place: Place, exact: bool) -> None:
    """Asked where it is wanted; if it is wanted more than once, kept and copied."""
    if l.scan.comms > 1:
        copy(l, place, comm_place(l, e), COMM)
    else:
        l.b.call("get_current_comm", l.address(place), l.b.const(COMM))


def comm_place(l: Lower, e: x.Context) -> Place:
    assert e.name == "comm"
    place: Place = l.once("comm", lambda: _keep_comm(l))
    return place


def _keep_comm(l: Lower) -> Place:
    fn = l.fn
    if fn.comm is None:
        fn.comm = l.kept_slot(COMM, "comm")
    place = l.slot_place(fn.comm)
    l.b.call("get_current_comm", l.address(place), l.b.const(COMM))
    return place


# --- clocks -----------------------------------------------------------------------------------------------------------


def boot_clock(l: Lower) -> Reg:
    if l.features.lacks("helper:ktime_get_boot_ns"):
        return l.b.call("ktime_get_ns")
    return l.b.call("ktime_get_boot_ns")


def _global(l: Lower, word: int) -> Reg:
    return l.b.load(l.b.map_value(l.pieces.use(GLOBALS), 8 * word), 0, 8)


def _nsecs(l: Lower, clock: str) -> Reg:
    match clock:
        case "monotonic":
            return l.b.call("ktime_get_ns")
        case "tai" if not l.features.lacks("helper:ktime_get_tai_ns"):
            return l.b.call("ktime_get_tai_ns")
        case "tai" | "sw_tai":
            return l.b.alu("add", boot_clock(l), _global(l, GLOBAL_TAI))
        case "realtime":
            return l.b.alu("add", boot_clock(l), _global(l, GLOBAL_WALL))
        case _:
            return boot_clock(l)


def _elapsed(l: Lower, _arg: str) -> Reg:
    return l.b.alu("sub", boot_clock(l), _global(l, GLOBAL_START))


# --- the probe --------------------------------------------------------------------------------------------------------


def _site(l: Lower, _arg: str) -> Reg:
    """The number of the site that fired."""
    if l.site is not None:
        return l.site if l.fn is l.main else l.b.load(captured_frame(l), FRAME_SITE, 8)
    if l.unit.site_by == "cookie":
        reg: Reg = l.once("cookie", lambda: l.b.call("get_attach_cookie", l.fn.ctx))
        number = l.b.alu_imm("add", reg, l.unit.site_shift) if l.unit.site_shift else reg
        return l.b.zext(number, 32)
    return l.b.const(l.unit.sites[0])


def _func_ip(l: Lower, _arg: str) -> Reg:
    if l.unit.in_user and not at_return(l):  # there the helper knows it from 6.6 on only
        return l.b.load(l.fn.ctx, l.arch.regs[l.arch.ip], 8)
    l.require("helper:get_func_ip", "func_ip")
    return l.b.call("get_func_ip", l.fn.ctx)


def at_return(l: Lower) -> bool:
    """Whether the probe fires when the function returns."""
    sites = l.program.sites
    return any(getattr(sites[n].attach, "ret", False) for n in l.unit.sites if n < len(sites))


def _usermode(l: Lower, _arg: str) -> Reg:
    """Of perf events: the privilege level in the saved registers."""
    if l.unit.kind not in {"perf_event", "kprobe"}:
        l.refuse("usermode can only be asked in perf events")
    if l.arch.name == "x86_64":
        level = l.b.alu_imm("and", l.b.load(l.fn.ctx, l.arch.regs["cs"], 8), 3)
        return l.b.alu_imm("shr", level, 1)  # 3 in user mode, 0 in the kernel
    mode = l.b.alu_imm("and", l.b.load(l.fn.ctx, l.arch.regs["pstate"], 8), 15)
    return l.b.alu_imm("shr", l.b.alu_imm("sub", mode, 1), 63)  # EL0t is 0


_LASTING: dict[str, Callable[[Lower, str], Reg]] = {
    "pid": tgid,
    "tid": _tid,
    "uid": _uid,
    "gid": _gid,
    "cpu": lambda l, _: ask(l, "get_smp_processor_id"),
    "cgroup": lambda l, _: ask(l, "get_current_cgroup_id"),
    "curtask": lambda l, _: ask(l, "get_current_task"),
    "numaid": lambda l, _: ask(l, "get_numa_node_id"),
    "probe": _site,
    "func": _site,
    "func_ip": _func_ip,
    "usermode": _usermode,
    "cpid": lambda l, _: l.b.const(l.options.cpid),
    "exit_code": lambda l, _: l.b.const(0),
    "ctx": lambda l, _: l.fn.ctx,
}

_PASSING: dict[str, Callable[[Lower, str], Reg]] = {
    "nsecs": _nsecs,
    "elapsed": _elapsed,
    "jiffies": lambda l, _: l.b.call("jiffies64"),
    "rand": lambda l, _: l.b.zext(l.b.call("get_prandom_u32"), 32),
}
