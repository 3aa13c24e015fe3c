"""Lines of one's own among the events: trace_marker. Source: Documentation/trace/ftrace.rst."""

from __future__ import annotations

import errno

from probescope.errors import KernelError, UsageError
from probescope.kernel import tracefs
from probescope.kernel.started import OWN, all_started

MOST = 1000
"""Bytes of a line that every kernel takes whole."""


def mark(text: str, buffer: str = "") -> str:
    """Writes ``text`` into the buffer of an instance; none named: into the trace that was started without a name, else
    into the top buffer. The name of the instance, empty for the top one. Raises KernelError, UsageError."""
    name = buffer or next((one.instance for one in all_started() if one.instance == OWN and not one.top), "")
    base = f"{tracefs.find_root()}/instances/{name}" if name else tracefs.find_root()
    if "/" in name or len(text.encode("utf-8", "surrogateescape")) > MOST:
        what = f"a mark has at most {MOST} bytes" if "/" not in name else f"'{name}' is no name of a buffer"
        raise UsageError(what)
    try:
        tracefs.write("trace_marker", text, base)
    except KernelError as e:
        if e.errno == errno.ENOENT and name:
            raise UsageError(f"there is no buffer {name}", hints=["probescope ftrace list -B lists them"]) from None
        if e.errno == errno.EBADF:
            raise _off(name) from None
        raise
    return name


def _off(name: str) -> UsageError:
    where = f"the trace {name}" if name else "the top buffer"
    if any(one.instance == name for one in all_started()):
        hint = "probescope ftrace restart" + ("" if name == OWN else f" -B {name}")
    else:
        hint = "probescope ftrace start -e EVENT starts one that marks go to by themselves; -B NAME names another"
    return UsageError(f"tracing is off in {where}: the mark would go nowhere", hints=[hint])
