"""A kind of event that a text has: how its texts become fields, decided by the first of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from probescope.formats.tracetext import forms, pairs
from probescope.formats.tracetext.inverse import inverse
from probescope.formats.tracetext.layouts import known, made, special, text_field

if TYPE_CHECKING:
    from probescope.formats.tracetext.graph_text import Entry
    from probescope.model.recording import EventType

SAMPLES = 64
_FIRST_WORD = re.compile(r"([a-z]+\d*)_")
#: Systems whose events are not called after them. Source: include/trace/events/.
_SYSTEMS = (
    (re.compile(r"sys_(?:enter|exit)$"), "raw_syscalls"),
    (re.compile(r"sys_(?:enter|exit)_"), "syscalls"),
    (re.compile(r"softirq_|tasklet_"), "irq"),
    (re.compile(r"hrtimer_|itimer_|tick_stop"), "timer"),
    (re.compile(r"kmalloc|kfree|kmem_|mm_page_|rss_stat"), "kmem"),
    (re.compile(r"cpu_(?:idle|frequency)|pm_qos_|suspend_resume|clock_set_rate"), "power"),
    (re.compile(r"page_fault_"), "exceptions"),
    (re.compile(r"netif_|napi_poll"), "net"),
    (re.compile(r"mm_filemap_"), "filemap"),
    (re.compile(r"mm_vmscan_"), "vmscan"),
    (re.compile(r"mm_compaction_"), "compaction"),
)


def system_of(name: str) -> str:
    """Of an event whose text has only its name."""
    for pattern, system in _SYSTEMS:
        if pattern.match(name):
            return system
    found = _FIRST_WORD.match(name)
    return found[1] if found else "trace"


class Kind:
    """``name``: ``system:event``. ``described``: by a kernel, if there is one that does. ``special``: of ftrace itself.
    ``printed``: what seemed an event's name is a function's that called trace_printk(). ``has``: what was recorded with
    its samples."""

    def __init__(
        self, name: str, described: EventType | None = None, *, asked: bool = False, own: bool = False
    ) -> None:
        self.name, self.described, self.special = name, described, own
        self.short = name.rpartition(":")[2]
        self.printed = False
        self.count = 0
        self.has: set[str] = set()
        self.event: EventType | None = None
        self._inverse = inverse(described) if described is not None else None
        self._asked = asked
        self._fitting = self._tried = 0
        self._fields: dict[str, str] = {}
        self._text = ""
        self._numeric: frozenset[str] = frozenset()

    # --- first pass

    def see(self, entry: Entry) -> None:
        self.count += 1
        if self.special:
            self.has.update(entry.values)
            return
        text = entry.text
        if entry.padded:  # by trace-cmd, which says `print` and `bprint` of what was printed
            self._asked = False
        if self.described is not None:
            if self._tried < SAMPLES:
                self._tried += 1
                self._fitting += self._fits(text)
            if self._fitting * 2 >= self._tried:
                return
        for name, value in self._plain(text).items():
            self._kind(name, value)

    def _fits(self, text: str) -> bool:
        if self._undone(text) is not None or forms.fields(self.short, text) is not None:
            return True
        assert self.described is not None
        names = {f.name for f in self.described.fields}
        found = pairs.pairs(text)
        return bool(found) and set(found) <= names

    def _kind(self, name: str, value: str) -> None:
        old = self._fields.get(name)
        if old is None and len(self._fields) >= pairs.MOST_FIELDS:
            return
        n = pairs.number(value)
        new = "text" if n is None else "hex" if value[:2].lower() == "0x" or n >> 63 > 0 else "int"
        if old in {None, new} or "text" in {old, new}:
            self._fields[name] = "text" if old == "text" else new
        else:
            self._fields[name] = "hex" if n is not None and n >= 0 else "int"

    def decide(self, number: int) -> EventType:
        """After the first pass."""
        if self.special:
            self.event = special(self.name, number, frozenset(self.has))
            return self.event
        if self.described is not None and self._fitting * 2 >= max(1, self._tried):
            self.event = known(self.described, self.described.id or number)
        else:
            self.described = None
            self.printed = self._asked and not self._fields and not self.short.startswith("sys_")
            self.event = made(self.name, number, self._fields)
        self._text = text_field(self.event)
        numeric = (f.name for f in self.event.fields if not f.dynamic and not f.count)
        self._numeric = frozenset(numeric)
        return self.event

    # --- second pass

    def values(self, text: str) -> tuple[dict[str, Any], bool]:
        """Of the event's fields, the text with them; whether its fields were found."""
        found: dict[str, Any] | None = None
        if self.described is not None:
            found = self._undone(text)
        fine = True
        if found is None:
            found = dict(self._plain(text))
            fine = self.described is None or bool(found)
            state = found.get("prev_state")
            if isinstance(state, str) and "prev_state" in self._numeric and (bits := forms.state(state)) is not None:
                found["prev_state"] = bits
        found[self._text] = text
        return found, fine

    def _undone(self, text: str) -> dict[str, Any] | None:
        if self._inverse is None:
            return None
        found = self._inverse.values(text)
        if found is None and text[:1] == "(":
            found = self._inverse.values(forms.without_caller(self.short, text))
        return found

    def _plain(self, text: str) -> dict[str, str]:
        found = forms.fields(self.short, text)
        return found if found is not None else pairs.pairs(text)
