"""Which mechanism answers for a function graph on this machine, and what a person is told about it.

function_graph   the roots and all that they call
fentry, kprobe   the named functions, and who of them called whom
system calls     what a program asked of the kernel: below its own functions, where there is nothing else
uprobe           a program's named functions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.collect.graph import probed
from probescope.collect.graph.request import ARGS
from probescope.errors import UsageError
from probescope.kernel import tracefs
from probescope.kernel.host import host

if TYPE_CHECKING:
    from probescope.collect.graph.probed import MakeSession
    from probescope.collect.graph.request import Calls, GraphRequest

SYSTEM_CALLS = {"x86_64": ("__x64_sys_", "__do_sys_"), "aarch64": ("__arm64_sys_", "__do_sys_")}
"""How names of the kernel's functions begin that programs call: below these it is looked, if none are named. Those
without arguments have two names for one place (SYSCALL_DEFINE0), of which ftrace knows the second."""
_OF_PROGRAMS = "probescope graph -x PROGRAM 'parse_*' -- PROGRAM"


def calls(request: GraphRequest, make: MakeSession, say: Callable[[str], None]) -> Calls:
    """What answers. ``make``: sessions of programs. ``say``: what a person is to know at once. Raises UsageError,
    ProbeError where nothing can."""
    if not request.binary:
        return _of_kernel(request, make, say)
    user = probed.user_pairs(request.binary, request.roots)
    if request.kernel is None:
        return probed.ProbedCalls(user, request, make)
    way = _way(request)
    if way == "ftrace":
        from probescope.collect.graph.mixed import MixedCalls
        from probescope.collect.graph.traced import TracedCalls

        kernel = TracedCalls(request, request.kernel or _system_calls(), say)
        try:
            return MixedCalls(kernel, probed.ProbedCalls(user, request, make, kernel.run.child_pid))
        except BaseException:
            kernel.close()
            raise
    way = "syscalls" if way == "none" else way
    if way == "syscalls" and request.kernel:
        raise _nothing(request.kernel, "--kernel without a name shows system calls")
    patterns = request.kernel or tuple(f"{p}*" for p in SYSTEM_CALLS.get(host().machine, ())[:1])
    if request.via == "auto":
        what = "system calls by their tracepoints" if way == "syscalls" else f"{way} probes at {', '.join(patterns)}"
        say(f"this kernel has no function_graph: {what}")
    _left_out(request, say)
    return probed.ProbedCalls([*user, *probed.kernel_pairs(way, patterns)], request, make)


def _of_kernel(request: GraphRequest, make: MakeSession, say: Callable[[str], None]) -> Calls:
    way = _way(request)
    if way == "ftrace":
        from probescope.collect.graph.traced import TracedCalls

        return TracedCalls(request, () if request.everything else request.roots, say)
    if way in ("none", "syscalls"):
        raise _nothing(request.roots)
    if request.via == "auto":
        say(f"this kernel has no function_graph: {way} probes at the named functions, not at what they call")
    _left_out(request, say)
    return probed.ProbedCalls(probed.kernel_pairs(way, request.roots or request.only), request, make)


def _left_out(request: GraphRequest, say: Callable[[str], None]) -> None:
    """What only function_graph can do, and was asked of probes."""
    asked = {
        "-n": request.notrace,
        "--args": ARGS in request.options,
        "-O": set(request.options) - {ARGS},
        "-e": request.events,
        "-o FILE.dat": request.keep,
    }
    names = [name for name, wanted in asked.items() if wanted]
    if names:
        say(f"only function_graph has {', '.join(names)}: left out")


def _way(request: GraphRequest) -> str:
    """What was asked for, or the best that there is: ftrace, fentry, kprobe or none."""
    graph = request.via in ("auto", "ftrace") and "function_graph" in tracefs.tracers()
    if request.via == "ftrace" and not graph:
        hints = [f"it has {', '.join(tracefs.tracers())}", "without --via ftrace, probes at the named functions may do"]
        raise UsageError("this kernel has no function_graph", hints=hints)
    if request.via != "auto":
        return request.via
    if graph:
        return "ftrace"
    from probescope.collect.host import HostFeatures

    features = HostFeatures()
    return next((way for way in ("fentry", "kprobe") if features.state(f"attach:{way}") == "yes"), "none")


def _system_calls() -> tuple[str, ...]:
    """Patterns of roots, without those calls that are no calls of the program's own."""
    prefixes = SYSTEM_CALLS.get(host().machine)
    if prefixes is None:
        hints = ["name functions: --kernel vfs_read"]
        raise UsageError(f"which functions are system calls is not known on {host().machine}", hints=hints)
    known = {name for name, _ in tracefs.filter_functions() if name.startswith(prefixes)}
    globs = [f"{p}*" for p in prefixes if any(name.startswith(p) for name in known)]
    own = [f"!{p}{name}" for p in prefixes for name in probed.PROBES_OWN if p + name in known]
    return (*globs, *own)


def _nothing(patterns: tuple[str, ...], instead: str = "") -> UsageError:
    what = f"this kernel has no function_graph, fentry or kprobes: {', '.join(patterns)} cannot be traced"
    programs = "functions of programs can be traced, with system calls below them by --kernel"
    return UsageError(what, hints=[instead or f"{programs}: {_OF_PROGRAMS}", "probescope doctor"])
