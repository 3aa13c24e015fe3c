"""Texts that are not what an event's print format says: forms of libtraceevent's plugins, and of the system calls.

    bash:1234 [120] S ==> swapper/2:0 [120]                      sched_switch
    hrtimer=0xffff88 function=tick_sched_timer/0x0 expires=1 softexpires=2

Source: formats/tracing/plugins.py prints them; kernel/trace/trace_syscalls.c.
"""

from __future__ import annotations

import re

_COMM = r"(.{0,16}?)"
_FORMS: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "sched_switch": (
        re.compile(_COMM + r":(\d+) \[(-?\d+)\] ([A-Za-z|+]+) ==> " + _COMM + r":(\d+) \[(-?\d+)\]$"),
        ("prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"),
    ),
    "sched_wakeup": (
        re.compile(_COMM + r":(\d+) \[(-?\d+)\](?: success=(\d+))?(?: CPU:(\d+))?$"),
        ("comm", "pid", "prio", "success", "target_cpu"),
    ),
    "hrtimer_start": (
        re.compile(r"hrtimer=(0x[0-9a-f]+) function=([^\s/]+)/0x0 expires=(\d+) softexpires=(\d+)$"),
        ("hrtimer", "function", "expires", "softexpires"),
    ),
    "hrtimer_expire_entry": (
        re.compile(r"hrtimer=(0x[0-9a-f]+) now=(\d+) function=([^\s/]+)/0x0$"),
        ("hrtimer", "now", "function"),
    ),
    "sys_enter": (
        re.compile(r"NR (-?\d+) \((\w+), (\w+), (\w+), (\w+), (\w+), (\w+)\)$"),
        ("id", *(f"args[{i}]" for i in range(6))),
    ),
    "sys_exit": (re.compile(r"NR (-?\d+) = (-?\d+)$"), ("id", "ret")),
}
_FORMS["sched_wakeup_new"] = _FORMS["sched_waking"] = _FORMS["sched_wakeup"]
#: Of a system call as the kernel prints it: hexadecimal without 0x.
_ARGUMENT = re.compile(r"(\w{1,64}): ([0-9a-f]{1,16})(?=,|$)")
_CALLER = re.compile(r"\([\w.$]+(?: \[[\w-]+\])?\+0x[0-9a-f]+\) ")
#: Letters of task states by bit (include/trace/events/sched.h); W is what libtraceevent before 1.8 calls I.
STATES = {letter: 1 << i for i, letter in enumerate("SDTtXZPI")} | {
    "R": 0,
    "+": 0x100,
    "W": 0x80,
}


def fields(event: str, text: str) -> dict[str, str] | None:
    """Of one of the forms: values by field as they were printed, hexadecimal ones with 0x."""
    if event.startswith("sys_exit_"):
        return {"ret": text.strip()}
    if event.startswith("sys_enter_") and "0x" not in text:
        return {name: f"0x{value}" for name, value in _ARGUMENT.findall(text)} or None
    found = _FORMS.get(event)
    match = found[0].match(text) if found else None
    if match is None or found is None:
        return None
    values = {name: value for name, value in zip(found[1], match.groups(), strict=True) if value is not None}
    if event == "sys_enter":
        values = {name: value if name == "id" else "0x" + value for name, value in values.items()}
    return values


def without_caller(event: str, text: str) -> str:
    """Allocations have their caller before their text."""
    return _CALLER.sub("", text, count=1) if event.startswith(("kmalloc", "kfree", "kmem_cache")) else text


def state(text: str) -> int | None:
    """Of prev_state's letters."""
    bits = 0
    for letter in text.replace("|", ""):
        if letter not in STATES:
            return None
        bits |= STATES[letter]
    return bits
