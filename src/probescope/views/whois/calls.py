"""System calls: number, arguments, the kernel's function, and where they can be traced."""

from __future__ import annotations

from typing import Any

from probescope.frozen import dataclass

_PREFIX = {"x86_64": "__x64_sys_", "aarch64": "__arm64_sys_"}
"""Of functions that SYSCALL_DEFINE makes (arch/*/include/asm/syscall_wrapper.h)."""


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    number: int
    declared: str
    event: str
    function: str


def known(name: str, arch: str) -> Call | None:
    """``None`` if the architecture has no such call, or is not known."""
    from probescope.model import syscalls

    try:
        found = syscalls.find(name, arch)
    except KeyError:
        return None
    if found is None:
        return None
    event = syscalls.event_name(name, arch)
    args = ", ".join(f"{a.type}{'' if a.type.endswith('*') else ' '}{a.name}" for a in found.args)
    return Call(name, found.number, f"{name}({args})", event, _PREFIX[arch] + event)


def told(call: Call) -> str:
    exit_probe = f"tracepoint:syscalls:sys_exit_{call.event}"
    return (
        f"{call.declared}\n"
        f"    system call {call.number}; in the kernel {call.function}\n"
        f"    probescope run -e 'tracepoint:syscalls:sys_enter_{call.event} {{ print(args); }}'\n"
        f"    probescope run -e '{exit_probe} /args.ret < 0/ {{ @[comm, args.ret] = count(); }}'\n"
        f"    probescope graph {call.function} -- COMMAND\n"
    )


def document(call: Call) -> dict[str, Any]:
    return {
        "syscall": call.name,
        "number": call.number,
        "declaration": call.declared,
        "function": call.function,
        "tracepoint": f"syscalls:sys_enter_{call.event}",
    }
