"""Stacks of ftrace's events: the option ``stacktrace`` records one behind each event, in the buffer of its CPU.

    CPU 0    sched_switch | kernel_stack | sys_enter | (interrupt: irq_handler_entry | kernel_stack) | kernel_stack

An interrupt may come between an event and its stack; its own pair then lies inside. So a stack is of the youngest event
of its CPU that has none yet. Source: ftrace_trace_stack of kernel/trace/trace.c, called after the event's commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.frozen import replace
from probescope.kernel.uapi.perf import PERF_CONTEXT_KERNEL
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probescope.model.recording import Column, EventBatch, EventType

STACK = "ftrace:kernel_stack"


MACHINERY = (
    "trace_event_raw_event_",
    "__traceiter_",
    "__ftrace_trace_stack",
    "__trace_stack",
    "ftrace_trace_stack",
    "trace_event_buffer_commit",
    "trace_buffer_unlock_commit_regs",
    "ftrace_syscall_",
    "perf_trace_",
    "event_trigger",
    "event_hist_trigger",
    "action_trace",
)
"""Where a stack begins depends on how the kernel unwinds, and on who else listens; what a program asks for begins with
the function that the event is in."""


class Machinery:
    """Whether an address is one of the tracer's own functions. ``name``: of an address, if not of this kernel's."""

    def __init__(self, name: Callable[[int], str] | None = None) -> None:
        self._name = name or _name
        self._known: dict[int, bool] = {}

    def __call__(self, address: int) -> bool:
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = self._name(address).startswith(MACHINERY)
        return found

    def first(self, chain: Sequence[int]) -> int:
        """How many of the innermost frames are."""
        return next((i for i, a in enumerate(chain) if not self(a)), len(chain))


def _name(address: int) -> str:
    from probescope.collect.host import kernel_symbols

    symbol = kernel_symbols().lookup(address)
    return symbol[0] if symbol else ""


def number(events: tuple[EventType, ...]) -> int:
    """Of the kind that stacks are, -1 where the kernel has none."""
    return next((i for i, e in enumerate(events) if e.name == STACK), -1)


def with_stacks(batch: EventBatch, events: tuple[EventType, ...], machinery: Machinery) -> EventBatch:
    """The batch with ``stacks``, as perf's samples have them; records of stacks stay, and have none."""
    kind = number(events)
    caller = events[kind].field("caller") if kind >= 0 else None
    is_stack = batch.event == kind
    if caller is None or batch.raw is None or not is_stack.any():
        nothing = np.zeros(len(batch), np.int64)
        return replace(batch, stacks=Ragged(np.zeros(0, np.uint64), nothing, nothing))
    owner = _owners(batch.cpu, is_stack)
    stacks, places = np.flatnonzero(owner >= 0), owner[owner >= 0]
    values, starts, sizes = [np.zeros(0, np.uint64)], np.zeros(len(batch), np.int64), np.zeros(len(batch), np.int64)
    at = 0
    for record, event in zip(stacks.tolist(), places.tolist(), strict=True):
        raw = batch.raw.piece(record)[caller.offset :]
        chain = np.ascontiguousarray(raw[: len(raw) // 8 * 8]).view(np.uint64)
        chain = chain[(chain != 0) & (chain != np.uint64((1 << 64) - 1))]
        chain = chain[machinery.first(chain.tolist()) :]
        values += [np.array([PERF_CONTEXT_KERNEL], np.uint64), chain]
        starts[event], sizes[event] = at, len(chain) + 1
        at += len(chain) + 1
    return replace(batch, stacks=Ragged(np.concatenate(values), starts, sizes))


def _owners(cpu: Column, is_stack: Column) -> Column:
    """For each record that is a stack the place of its event, else -1."""
    owner = np.full(len(cpu), -1, np.int64)
    for one in np.unique(cpu).tolist():
        places = np.flatnonzero(cpu == one)
        stacks = is_stack[places]
        # in most cases the stack is right behind its event
        plain = stacks[1:] & ~stacks[:-1]
        if plain.sum() == stacks.sum() == len(stacks) - stacks.sum():
            owner[places[1:][plain]] = places[:-1][plain]
            continue
        open_: list[int] = []
        for place, stack in zip(places.tolist(), stacks.tolist(), strict=True):
            if not stack:
                open_.append(place)
            elif open_:
                owner[place] = open_.pop()
    return owner
