"""What each collector offers, as reasons: needs that it cannot meet, and why.

    need                     bpf    perf                       ftrace            replay
    event field              yes    yes                        yes               as recorded
    pid, tid, cpu, comm      yes    yes                        yes               if recorded
    nsecs                    yes    yes                        yes               if recorded, on the recording's clock
    cgroup                   yes    yes                        no                if recorded
    uid, gid, curtask...     yes    no                         no                no
    arg0, retval, registers  yes    of kprobes, uprobes, USDT  likewise          no
    reads of memory          yes    no                         no                no
    stacks                   yes    yes, by frame pointers     of the kernel     if recorded
    effects, system()        yes    no; system() yes           no; system() yes  no

The ladder (ladder.py) says what bpf's mechanisms can; whatever they lack is asked of the kernel's features there. A
new collector is an ``Offer`` here, and the steps that carry it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probescope.frozen import dataclass, field
from probescope.ir.expr import Context
from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause, Program
from probescope.ir.walk import clause_nodes
from probescope.model.types import Opaque

USER_ALONE = (
    "perf takes samples of system calls with the registers of the program, whose stack is the user's alone"
    " (raw_syscalls:sys_enter has the kernel's)"
)
"""perf_syscall_enter of kernel/trace/trace_syscalls.c."""
RECORD_ONLY = "there is nothing but the record of each event"


@dataclass(frozen=True, slots=True)
class Offer:
    """What events of one kind bring along. ``context``: names, with the reason why not where that is known; names that
    are missing are not offered. ``clocks``: those that ``nsecs`` may ask for. ``wall``: whether times can be told as
    times of day. ``acts``: whether what the program does besides looking is done now, as the events happen.
    ``arguments``: whether registers, and arguments and results by the calling convention, come along.
    ``user_alone``: stacks have no frames of the kernel; ``no_user``: why
    they have none of programs."""

    collector: str
    context: Mapping[str, str] = field(default_factory=dict[str, str])
    stacks: str = ""
    clocks: frozenset[str] = frozenset({"", "boot"})
    wall: bool = True
    acts: bool = True
    arguments: bool = False
    user_alone: bool = False
    no_user: str = ""


ALWAYS: Mapping[str, str] = dict.fromkeys(("probe", "func", "rand", "elapsed"), "")
_UNKNOWN = "of the current task more than its numbers and its name is not in an event"


def lacking(program: Program, clause: Clause, offer: Offer) -> tuple[str, ...]:
    """Why a clause cannot be served by events that offer this; nothing if it can."""
    return tuple(dict.fromkeys(_lacking(program, clause, needs(clause), offer)))


def _lacking(program: Program, clause: Clause, n: Needs, offer: Offer) -> Iterator[str]:
    for name in sorted(n.context):
        why = offer.context.get(name.partition(":")[0], f"{name.partition(':')[0]}: {_UNKNOWN}")
        if why:
            yield why
    for node in clause_nodes(clause):
        if isinstance(node, Context) and node.name == "nsecs" and node.arg not in offer.clocks:
            yield f"nsecs({node.arg}): events have times of one clock"
        if isinstance(node, Context) and node.arg == "curr_ns":
            yield f"{node.name}: numbers of a pid namespace are not in an event"
        if not offer.wall and isinstance(getattr(node, "type", None), Opaque) and node.type.kind == "timestamp":  # type: ignore[union-attr]
            yield "strftime(): the recording does not tell the time of day (perf record -k CLOCK_MONOTONIC does)"
    if not offer.arguments:
        if n.args:
            yield f"arg{min(n.args)}: {RECORD_ONLY}; args.NAME reads its fields"
        if n.ret:
            yield f"retval: {RECORD_ONLY}"
        if n.regs:
            yield f"reg({', '.join(sorted(n.regs))}): registers are not in it"
    elif n.fields:
        yield f"args.{min(n.fields)}: types of arguments are told to BPF programs; arg0, arg1... are their numbers"
    for space in sorted(n.reads):
        yield f"it reads {space} memory: {RECORD_ONLY}"
    if n.stacks and offer.stacks:
        yield f"{_kind(n.stacks)}: {offer.stacks}"
    elif offer.no_user and (users := frozenset(s for s in n.stacks if not s.startswith("kstack"))):
        yield f"{_kind(users)}: {offer.no_user}"
    elif offer.user_alone and any(s.startswith("kstack") for s in n.stacks):
        yield f"kstack: {USER_ALONE}"
    yield from _deeds(program, n, offer)


def _kind(stacks: frozenset[str]) -> str:
    return ", ".join(sorted(stacks))


def _deeds(program: Program, n: Needs, offer: Offer) -> Iterator[str]:
    for effect in sorted(n.effects):
        yield f"{effect}() changes the traced system: events have happened when probescope sees them"
    for call in sorted(n.calls - {"usym"}):
        yield f"{call}() asks the kernel: {RECORD_ONLY}"
    for kind in sorted({program.actions[i].kind for i in n.actions}):
        if kind in ("system", "cat") and not offer.acts:
            yield f"{kind}() would act now, and what was recorded is past"
        if kind == "skboutput":
            yield "skboutput() reads packets out of the kernel's memory"
