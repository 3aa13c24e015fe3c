"""What was asked: a ``ProbeSpec`` is one probe as written, split into its parts, not yet looked up.

uprobe:/bin/bash:readline+4       source=uprobe    target=/bin/bash  name=readline  offset=4
kprobe:nf_*                       source=kprobe    name=nf_*
tracepoint:sched:sched_switch     source=tracepoint target=sched     name=sched_switch
usdt:/bin/x:ns:name               source=usdt      target=/bin/x     namespace=ns  name=name
profile:hz:99                     source=profile   unit=hz           value=99
watchpoint:0x7f00:8:rw            source=watchpoint address=0x7f00   length=8      mode=rw
"""

from __future__ import annotations

from probescope.diagnostics import NOWHERE, Span
from probescope.frozen import dataclass

SHORT_NAMES: dict[str, str] = {
    "k": "kprobe",
    "kr": "kretprobe",
    "f": "fentry",
    "fr": "fexit",
    "kfunc": "fentry",
    "kretfunc": "fexit",
    "u": "uprobe",
    "ur": "uretprobe",
    "U": "usdt",
    "t": "tracepoint",
    "rt": "rawtracepoint",
    "p": "profile",
    "i": "interval",
    "s": "software",
    "h": "hardware",
    "w": "watchpoint",
    "aw": "asyncwatchpoint",
    "it": "iter",
    "BEGIN": "begin",
    "END": "end",
}
"""Short and old names of sources, as users of bpftrace write them, to the name used here."""

SOURCES: tuple[str, ...] = (
    "begin",
    "end",
    "self",
    "test",
    "bench",
    "tracepoint",
    "rawtracepoint",
    "kprobe",
    "kretprobe",
    "fentry",
    "fexit",
    "uprobe",
    "uretprobe",
    "usdt",
    "profile",
    "interval",
    "software",
    "hardware",
    "watchpoint",
    "asyncwatchpoint",
    "iter",
)

FOR_PEOPLE: tuple[str, ...] = tuple(s for s in SOURCES if s not in ("test", "bench"))
"""Those that are worth a word to users: the others serve the language's own modes of test and benchmark."""


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """``target`` is a binary's path, a kernel module, a tracepoint category or an object's name; ``name`` a function,
    event or signal and may hold globs (``*``, ``?``, ``[...]``); ``None`` in ``address`` means: by name. ``text`` is
    the probe as written."""

    source: str
    target: str = ""
    name: str = ""
    namespace: str = ""
    offset: int = 0
    address: int | None = None
    unit: str = ""  # hz, s, ms, us for profile and interval; "" where `value` is a count or a bare number
    value: int = 0  # frequency, period or sample count
    length: int = 0  # watchpoint: bytes
    mode: str = ""  # watchpoint: any of r, w, x
    language: str = ""  # "cpp": `name` is a demangled C++ name
    line: int = 0  # source line in `name` taken as a file, 0: none
    column: int = 0  # column of that line, 0: any
    alias: str = ""  # name=probe
    text: str = ""
    span: Span = NOWHERE

    @property
    def is_glob(self) -> bool:
        return any(c in "*?[" for c in self.target + self.name + self.namespace)

    def __str__(self) -> str:
        return self.text or ":".join(p for p in (self.source, self.target, self.namespace, self.name) if p)
