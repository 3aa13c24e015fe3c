"""``kfunc:NAME`` and ``kfunc:NAME@KIND``: the function must be in the kernel's BTF, and a program be allowed to call
it."""

from __future__ import annotations

from probescope.errors import KernelError
from probescope.kernel.features.answer import No
from probescope.kernel.features.btf_ids import FUNC, type_id
from probescope.kernel.features.tiny import EXIT, LOADS, call_kfunc, refusal

_ABSENT = (
    "is not allowed",  # for this kind of program
    "reserved fields",  # kernels that know no calls into the kernel (before 5.13)
    "is not supported",
    "calling kernel function",
    "does not support calling",
)

KINDS = (
    "tracepoint",
    "kprobe",
    "perf_event",
    "raw_tracepoint",
    "tp_btf",
    "syscall",
    "uprobe_session",
    "kprobe_session",
    "fentry",
    "lsm",
)


def attempt(name: str) -> None:
    what, _, kind = name.partition(":")[2].partition("@")
    number = type_id(what, FUNC)
    if not number:
        raise No("not in the kernel's BTF")
    if kind and kind not in LOADS:
        raise No("no such kind of program")
    trouble: KernelError | None = None
    for one in (kind,) if kind else KINDS:
        try:
            said = refusal(one, call_kfunc(number) + EXIT)
        except KernelError as e:
            trouble = trouble or e
            continue
        except No:  # nothing in BTF to load this kind for
            continue
        if not any(sign in said for sign in _ABSENT):
            return
    if trouble:
        raise trouble
    raise No(f"no {kind or 'tracing'} program may call it")
