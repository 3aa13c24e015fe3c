"""tracefs: where it is, which events and functions it offers, its words about mistakes, and private instances.

Files here are written with O_WRONLY|O_APPEND by one write(2) each: anything else empties lists or is refused. What one
process enables for everybody would change another tracer's state; probescope works in ``Instance``s of its own, and
what cannot live in one carries our prefix (see ``leftovers``). Source: Documentation/trace/ftrace.rst, events.rst.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Self

from probescope.errors import KernelError, PermissionDenied, Unsupported
from probescope.kernel.host import host
from probescope.kernel.leftovers import owner_prefix

USUAL = "/sys/kernel/tracing"
_PLACES = (USUAL, "/sys/kernel/debug/tracing")
_FORMAT_LIMIT = 1 << 20


def find_root() -> str:
    """Where tracefs is mounted. Raises PermissionDenied or Unsupported, with the command that mounts it."""
    h = host()
    cached: str = h.cache.get("tracefs", "")
    if cached:
        return cached
    denied = False
    for place in (*_PLACES, *_mounted()):
        try:
            if "available_events" in h.listdir(place) or h.exists(place + "/events"):
                h.cache["tracefs"] = place
                return place
        except PermissionError:
            denied = True
        except OSError:
            continue
    from probescope.kernel.advice import hints_for

    if denied:
        raise PermissionDenied("open tracefs", errno.EACCES, hints=hints_for("open tracefs", errno.EACCES))
    raise Unsupported("open tracefs", errno.ENOENT, hints=hints_for("open tracefs", errno.ENOENT))


def writable() -> bool:
    """Whether instances can be made in it."""
    try:
        return os.access(find_root() + "/instances", os.W_OK)
    except KernelError:
        return False


def _mounted() -> Iterator[str]:
    """Mount points of tracefs that /proc/mounts lists: ``device point type options 0 0``, blanks as octal escapes."""
    try:
        text = host().read_text("/proc/mounts", 1 << 22)
    except OSError:
        return
    for line in text.splitlines():
        parts = line.split(" ")
        if len(parts) > 2 and parts[2] == "tracefs":
            yield parts[1].replace("\\040", " ")


def read(name: str, base: str = "", *, limit: int = 1 << 26) -> str:
    """A file by its path below ``base`` (an instance's folder; else the root). Raises KernelError."""
    path = f"{base or find_root()}/{name}"
    try:
        return host().read_text(path, limit)
    except OSError as e:
        raise _error("read", path, e) from None


def write(name: str, data: str, base: str = "", *, truncate: bool = False) -> None:
    """Writes one line or value; ``truncate`` empties the file before (set_ftrace_filter). Raises KernelError; for a
    mistake in a probe or filter, ``where`` is what the kernel wrote about it."""
    path = f"{base or find_root()}/{name}"
    try:
        host().write(path, data, truncate=truncate)
    except OSError as e:
        raise _error("write", path, e, data, base) from None


def write_words(name: str, words: Sequence[str], base: str = "") -> None:
    """Many words through one descriptor, each by a write of its own: what they mean together is worked out once, at
    the end. Raises KernelError."""
    path = f"{base or find_root()}/{name}"
    h = host()
    try:
        fd = h.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            for word in words:
                os.write(fd, f"{word}\n".encode("utf-8", "surrogateescape"))
        finally:
            h.close(fd)
    except OSError as e:
        raise _error("write", path, e) from None


def _error(call: str, path: str, e: OSError, data: str = "", base: str = "") -> KernelError:
    from probescope.kernel.advice import kernel_error

    where = ""
    if call == "write" and e.errno in {errno.EINVAL, errno.ENOENT, errno.EEXIST, errno.ENODEV, errno.EILSEQ}:
        where = last_error(data, base) or (last_error(data) if base else "")
    return kernel_error(f"{call} {path}", e.errno or 0, where, path=path, data=data)


def last_error(data: str, base: str = "") -> str:
    """What the kernel says about the text that it has just refused: error_log is cumulative, so an entry about another
    command is not ours. Empty if it says nothing. ``base``: of the instance, which has a log of its own."""
    try:
        return parse_error_log(host().read_text((base or find_root()) + "/error_log", 1 << 20), data)
    except (OSError, KernelError):
        return ""


def parse_error_log(text: str, command: str) -> str:
    """The last entry of error_log, if it is about ``command``::

    [ 4815.16] trace_kprobe: error: Invalid argument
      Command: p:x/y nosuch
                     ^
    """
    head, said = "", ""
    for line in text.splitlines():
        if line.startswith("[") and "error: " in line:
            head = line.split("] ", 1)[-1]
        elif line.lstrip().startswith("Command: "):
            said = head if line.lstrip()[9:].strip() == command.strip() else ""
    return said


# --- events
# ------------------------------------------------------------------------------------------------------------


def available_events() -> list[tuple[str, str]]:
    """(category, name) of every event, one read for all. Raises KernelError."""
    out: list[tuple[str, str]] = []
    for line in read("available_events").split("\n"):
        category, colon, name = line.partition(":")
        if colon:
            out.append((category, name))
    return out


def event_format(category: str, name: str) -> str:
    """The text of events/CATEGORY/NAME/format. Raises KernelError (ENOENT if there is no such event)."""
    return read(_event_file(category, name, "format"), limit=_FORMAT_LIMIT)


def event_id(category: str, name: str) -> int:
    """The number for perf_event_attr.config. Raises KernelError."""
    return int(read(_event_file(category, name, "id"), limit=64))


def has_event(category: str, name: str) -> bool:
    return host().exists(f"{find_root()}/{_event_file(category, name, 'id')}")


def _event_file(category: str, name: str, file: str) -> str:
    for part in (category, name):
        if not part or "/" in part or part in {".", ".."} or "\0" in part:
            raise KernelError("open an event", errno.ENOENT, where=f"{category}:{name}"[:200])
    return f"events/{category}/{name}/{file}"


# --- functions
# -----------------------------------------------------------------------------------------------------------


def filter_functions_bytes() -> bytes:
    """available_filter_functions as it is: ``name`` or ``name [module]`` a line, 60,000 lines and more. Raises
    KernelError."""
    path = find_root() + "/available_filter_functions"
    try:
        return host().read_bytes(path)
    except OSError as e:
        raise _error("read", path, e) from None


def filter_functions() -> Iterator[tuple[str, str]]:
    """(function, module or nothing) of everything that ftrace, and with it kprobe_multi and fentry, can trace."""
    for line in filter_functions_bytes().decode("ascii", "replace").split("\n"):
        name, _, module = line.partition(" [")
        if name and not name.startswith("__ftrace_invalid_address"):
            yield name, module.rstrip("]")


def kprobe_blacklist() -> frozenset[str]:
    """Functions that no kprobe may sit on (debugfs kprobes/blacklist); empty if the list cannot be read."""
    try:
        text = host().read_text("/sys/kernel/debug/kprobes/blacklist", 1 << 22)
    except OSError:
        return frozenset()
    return frozenset(line.split()[-1] for line in text.splitlines() if line.strip())


def tracers() -> list[str]:
    """What current_tracer takes: nop, function, function_graph, ... Raises KernelError."""
    return read("available_tracers").split()


# --- instances
# -----------------------------------------------------------------------------------------------------------


class Instance:
    """A private set of buffers and event switches, instances/``prefix + tag``. Leaving it, or ``close()``, removes it.
    Raises KernelError."""

    def __init__(self, tag: str) -> None:
        self.name = owner_prefix() + tag
        self.path = f"{find_root()}/instances/{self.name}"
        try:
            host().mkdir(self.path)
        except OSError as e:
            raise _error("mkdir", self.path, e) from None

    def read(self, name: str) -> str:
        return read(name, self.path)

    def write(self, name: str, data: str, *, truncate: bool = False) -> None:
        write(name, data, self.path, truncate=truncate)

    def close(self) -> None:
        """Switches its events off and removes it. Busy readers keep it: then the next run reaps it."""
        remove_instance(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def size_buffer(base: str, kb: int) -> None:
    """Room of each CPU's buffer of an instance none of whose events is on yet.

    Before 6.7 ("tracing: Expand all ring buffers individually") one flag of the machine says that sizes are the usual
    ones or chosen: an instance whose size is chosen would leave the top buffer as small as it is before its first use,
    for whoever uses it next. So that one grows before, which an event that is told to be off brings about. Raises
    KernelError."""
    if "expanded" in read("buffer_size_kb"):
        write("events/enable", "0", base)
    write("buffer_size_kb", str(kb), base)


def told_size(text: str) -> str:
    """The size of each CPU's buffer, in KB, that ``buffer_size_kb`` tells: what a buffer that was never used has as
    soon as it is, ``7 (expanded: 1408)``. ``X`` where CPUs have different ones."""
    return text.replace("(expanded:", " ").replace(")", " ").split()[-1]


def remove_instance(path: str) -> bool:
    h = host()
    with contextlib.suppress(OSError):
        h.write(path + "/events/enable", "0")
    try:
        h.rmdir(path)
    except OSError as e:
        from probescope.kernel.triggers import remove_all

        if e.errno != errno.EBUSY or not remove_all(path):
            return False
        try:
            h.rmdir(path)
        except OSError:
            return False
    return True
