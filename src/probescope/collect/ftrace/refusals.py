"""What the kernel refuses, made an error that says what is wrong with which word, and what there is instead."""

from __future__ import annotations

import errno
from contextlib import suppress

from probescope.collect.ftrace.arming import no_function
from probescope.diagnostics import nearest
from probescope.errors import KernelError, PermissionDenied, ProbeError, ProbescopeError, UsageError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.kernel import tracefs
from probescope.kernel.error_log import last_complaint
from probescope.kernel.machine import possible_cpus


def functions_locked(file: str) -> UsageError:
    hints = [
        "events work all the same: probescope ftrace record -e sched -- COMMAND",
        "functions of programs: probescope graph -x FILE FUNCTION -- COMMAND",
        "sysctl kernel.ftrace_enabled, and lockdown in probescope doctor, say more",
    ]
    error = UsageError(f"this machine lets nobody trace the kernel's functions ({file}: EPERM)", hints=hints)
    error.exit_code = 1
    return error


def refused_functions(file: str, name: str, e: KernelError) -> ProbescopeError:
    return functions_locked(file) if isinstance(e, PermissionDenied) else no_function(name, e)


def refused_tracer(name: str, known: list[str], e: KernelError | None = None) -> ProbescopeError:
    if isinstance(e, PermissionDenied):
        return functions_locked("current_tracer")
    near = nearest(name, known)
    hints = [f"did you mean {near[0]}?"] if near else []
    return UsageError(f"this kernel has no tracer {name}", hints=[*hints, f"it has {' '.join(sorted(known))}"])


def refused_clock(name: str, base: str) -> UsageError:
    known = tracefs.read("trace_clock", base).replace("[", "").replace("]", "").split()
    near = nearest(name, known)
    hints = [f"did you mean {near[0]}?"] if near else []
    return UsageError(f"there is no trace clock {name}", hints=[*hints, f"one of {' '.join(known)}"])


def refused_cpus(mask: str, e: KernelError) -> ProbescopeError:
    """Bits of CPUs that this machine cannot have: bitmap_parse of lib/bitmap-str.c says EOVERFLOW."""
    if e.errno != errno.EOVERFLOW:
        return e
    there = possible_cpus()
    all_of_them = f"{sum(1 << cpu for cpu in there):x}"
    return UsageError(
        f"the mask {mask} has CPUs that this machine has not",
        hints=[f"{len(there)} CPUs, up to CPU {there[-1]}: -M {all_of_them} is all of them"],
    )


def no_snapshots() -> UsageError:
    hint = "it takes CONFIG_TRACER_SNAPSHOT; ftrace stop, then show or extract, keeps the moment too"
    return UsageError("this kernel takes no snapshots", hints=[hint])


def refused_option(option: str, tracer: str, base: str) -> UsageError:
    known = [o.removeprefix("no") for o in tracefs.read("trace_options", base).split()]
    near = nearest(option.removeprefix("no"), known)
    hints = [f"did you mean {near[0]}?"] if near else []
    of = f" with the tracer {tracer}" if tracer != "nop" else ""
    return UsageError(
        f"this kernel has no trace option {option}{of}", hints=[*hints, "probescope ftrace list -o lists them"]
    )


def refused_filter(event: str, text: str, file: str, base: str, e: KernelError) -> ProbescopeError:
    """The file itself holds what is wrong::

    common_pid == foo
                  ^
    parse_error: Field not found
    """
    if isinstance(e, PermissionDenied):
        return e
    said = ""
    with suppress(KernelError):
        said = tracefs.read(file, base)
    lines = said.splitlines()
    at = next((line.index("^") for line in lines if line.strip() == "^"), -1)
    why = lines[-1].partition("parse_error: ")[2].strip() if lines else ""
    if not why:
        found = last_complaint(text, base)
        why, at = (found.why, found.at) if found else ("it makes no sense to the kernel", -1)
    return ProbeError(f"the filter of {event}: {why}", hints=[*pointed(text, at), *_fields(event, text, at)])


def refused_trigger(event: str, text: str, base: str, e: KernelError) -> ProbescopeError:
    if isinstance(e, PermissionDenied):
        return e
    found = last_complaint(text, base)
    command = text.partition(" ")[0].partition(":")[0]
    known = ("traceon", "traceoff", "snapshot", "stacktrace", "enable_event", "disable_event", "hist")
    if command not in known:
        near = nearest(command, known)
        hints = [f"did you mean {near[0]}?"] if near else []
        return ProbeError(
            f"the trigger of {event}: there is no command {command}", hints=[*hints, f"one of {' '.join(known)}"]
        )
    if found is None:
        why = {"EEXIST": "it is there already", "EINVAL": "it makes no sense to the kernel"}.get(e.errno_name)
        why = why or f"this kernel cannot do that ({e.errno_name})"
        return ProbeError(f"the trigger {text} of {event}: {why}", hints=_fields(event, text, -1))
    offset = text.find(found.command.strip())
    at = found.at + max(offset, 0) if found.at >= 0 else -1
    return ProbeError(f"the trigger of {event}: {found.why}", hints=[*pointed(text, at), *_fields(event, text, at)])


def pointed(text: str, at: int) -> list[str]:
    """The text with a caret below the place."""
    return [f"{text}\n      {' ' * at}^"] if 0 <= at <= len(text) else [text]


def _fields(event: str, text: str, at: int) -> list[str]:
    """Near names of what the text names wrongly, and all fields."""
    system, _, name = event.partition(":")
    try:
        fields = [f.name for f in parse_event_format(tracefs.event_format(system, name), system).fields]
    except ProbescopeError:
        return []
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    strange = next((w for w in words if w not in fields and not w.isdigit() and nearest(w, fields)), "")
    near = [f"did you mean {' or '.join(nearest(strange, fields))}?"] if strange and at >= 0 else []
    return [*near, "fields: " + ", ".join(fields)]
