"""The kernel's watch over how deep its stacks get: one for the machine, CONFIG_STACK_TRACER.

Source: Documentation/trace/ftrace.rst, "Stack trace".
"""

from __future__ import annotations

import errno
from collections.abc import Callable

from probescope.errors import KernelError, Unsupported
from probescope.kernel import tracefs
from probescope.kernel.advice import kernel_error
from probescope.kernel.host import host

_SWITCH = "/proc/sys/kernel/stack_tracer_enabled"


def switch(*, on: bool) -> None:
    """Raises KernelError."""
    try:
        host().write(_SWITCH, str(int(on)))
    except OSError as e:
        raise _absent() if e.errno == errno.ENOENT else kernel_error(f"write {_SWITCH}", e.errno or 0) from None


def forget() -> None:
    _known(lambda: tracefs.write("stack_max_size", "0"))


def deepest() -> str:
    """The kernel's text: how many bytes, and the functions."""
    out: list[str] = []
    _known(lambda: out.append(tracefs.read("stack_trace")))
    return out[0]


def _known(run: Callable[[], object]) -> None:
    try:
        run()
    except KernelError as e:
        raise _absent() if e.errno == errno.ENOENT else e from None


def _absent() -> KernelError:
    return Unsupported("watch the kernel's stacks", errno.ENOENT, hints=["it takes a kernel with CONFIG_STACK_TRACER"])
