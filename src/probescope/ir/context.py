"""Names that ``Context`` may ask for: type, what it is, and who can answer.

``static`` values are the same for the whole run and become constants before any collector sees them (ncpus).
``event`` ones come with any recorded event; ``kernel`` ones only a program inside the kernel can ask.
"""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass
from probescope.model.types import BOOL, I32, U32, U64, VOID, Opaque, Pointer, String, Struct, Type

Reach = Literal["event", "kernel"]

CLOCKS = ("monotonic", "boot", "tai", "sw_tai", "realtime")


@dataclass(frozen=True, slots=True)
class ContextFact:
    type: Type
    reach: Reach
    about: str


CONTEXT: dict[str, ContextFact] = {
    "pid": ContextFact(U32, "event", "process id; arg: '' or init: initial namespace, curr_ns: ours"),
    "tid": ContextFact(U32, "event", "thread id; arg as for pid"),
    "uid": ContextFact(U32, "event", "user id"),
    "gid": ContextFact(U32, "event", "group id"),
    "comm": ContextFact(String(16), "event", "name of the thread"),
    "cpu": ContextFact(U32, "event", "number of the CPU"),
    "nsecs": ContextFact(U64, "event", "nanoseconds; arg: a clock of CLOCKS, '' is boot"),
    "elapsed": ContextFact(U64, "event", "nanoseconds since the session was activated"),
    "cgroup": ContextFact(U64, "event", "cgroup v2 id of the current task"),
    "curtask": ContextFact(Pointer(Struct("struct task_struct"), "kernel"), "kernel", "the current task"),
    "ctx": ContextFact(Pointer(VOID, "context"), "kernel", "the raw context of the probe"),
    "numaid": ContextFact(U32, "kernel", "NUMA node"),
    "jiffies": ContextFact(U64, "kernel", "jiffies"),
    "rand": ContextFact(U32, "kernel", "a pseudo-random number"),
    "usermode": ContextFact(BOOL, "event", "whether the interrupted context was in user mode (perf events)"),
    "func_ip": ContextFact(U64, "kernel", "address of the traced function's entry"),
    "probe": ContextFact(Opaque("probe"), "event", "which site fired"),
    "func": ContextFact(Opaque("func"), "event", "the function of the site that fired"),
    "cpid": ContextFact(U32, "event", "process id of the child given by -c; 0 without one"),
    "exit_code": ContextFact(I32, "event", "reserved for test programs"),
}
