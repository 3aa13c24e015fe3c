"""Traces that were started on purpose and outlive the command: what each is, and what undoes it.

    /run/probescope/started_<instance>.json
    {"instance": "probescope", "top": false, "undo": [[file, text, truncate], ...], "events": {"sched": [...]}}

Their instances do not carry the owner's prefix, so nobody reaps them; ``remove`` does. ``top``: this kernel has the
tracer in the top buffer only, which is borrowed until then.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from probescope.errors import KernelError, LimitError, SessionError
from probescope.frozen import dataclass, field
from probescope.kernel import borrowed, tracefs
from probescope.kernel.host import host

OWN = "probescope"
"""The instance of a trace that was given no name."""
_NAME = re.compile(r"started_([^/\0]{1,120})\.json")
_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True)
class Started:
    instance: str
    top: bool = False
    undo: tuple[tuple[str, str, bool], ...] = ()
    events: dict[str, list[str]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        root = tracefs.find_root()
        return root if self.top else f"{root}/instances/{self.instance}"

    @property
    def label(self) -> str:
        """As a buffer is called in a recording."""
        return "" if self.instance == OWN else self.instance

    @property
    def there(self) -> bool:
        """Whether nobody has removed it meanwhile; a restart of the machine has."""
        return self.top or host().exists(self.base)


def keep(started: Started) -> None:
    """Raises SessionError where it cannot be written down."""
    h = host()
    told = {"instance": started.instance, "top": started.top, "undo": started.undo, "events": started.events}
    try:
        h.make_private_folder(borrowed.FOLDER)
        h.write_whole(_path(started.instance), json.dumps(told))
    except OSError as e:
        raise SessionError(f"cannot write down in {borrowed.FOLDER} what was started: {e.strerror}") from None


def _path(instance: str) -> str:
    return f"{borrowed.FOLDER}/started_{instance}.json"


def all_started() -> list[Started]:
    """Those that are there; what is only remembered is forgotten."""
    try:
        names = sorted(host().listdir(borrowed.FOLDER))
    except OSError:
        return []
    found = [_read(named[1]) for name in names if (named := _NAME.fullmatch(name))]
    for one in found:
        if not one.there:
            host().unlink(_path(one.instance))
    return sorted((one for one in found if one.there), key=lambda one: one.label)


def _read(instance: str) -> Started:
    try:
        told = json.loads(host().read_text(_path(instance), _LIMIT))
        undo = tuple(
            (str(file), str(text), bool(truncate)) for file, text, truncate in told["undo"] if ".." not in file
        )
        events = {str(system): [str(n) for n in names] for system, names in told["events"].items()}
        return Started(instance, bool(told["top"]), undo, events)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, LimitError):
        return Started(instance)


def remove(started: Started) -> bool:
    """Ends it and puts back what it changed; whether nothing is left of it."""
    gone = True
    if started.top:
        borrowed.put_back(list(started.undo))
    else:
        # options of a tracer are there as long as the tracer, which must not run on without its roots
        options = [u for u in started.undo if u[0].endswith("/trace_options")]
        borrowed.put_back(options)
        for file, text in (("tracing_on", "0"), ("current_tracer", "nop")):
            with suppress(KernelError):
                tracefs.write(file, text, started.base)
        gone = tracefs.remove_instance(started.base)
        borrowed.put_back([u for u in started.undo if u not in options])
    if gone:
        host().unlink(_path(started.instance))
    return gone
