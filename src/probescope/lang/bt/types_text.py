"""How messages and ``typeinfo`` name types."""

from __future__ import annotations

from probescope.model.types import (
    Agg,
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Struct,
    Tuple,
    Type,
    Void,
)

_OPAQUE = {
    "ksym": "ksym_t",
    "usym": "usym_t",
    "timestamp": "timestamp",
    "inet": "inet",
    "mac": "mac_address",
    "cgroup_path": "cgroup_path_t",
    "container": "container_t",
    "username": "username_t",
    "float": "float",
    "double": "double",
}


def show(t: Type) -> str:
    """A type as the language writes it: ``uint64``, ``string[16]``, ``struct file *``, ``kstack_bpftrace_127``."""
    match t:
        case Opaque(kind=("kstack" | "ustack") as kind, param=mode, depth=depth):
            return f"{kind}_{mode}_{depth}"
        case Opaque(kind=kind):
            return _OPAQUE.get(kind, "string")
        case Tuple(items=items):
            return "(" + ",".join(map(show, items)) + ")"
        case Record(fields=fields):
            return "record { " + ", ".join(f".{n} = {show(f)}" for n, f in fields) + " }"
        case Pointer(target=target):
            return f"{show(target)} *"
        case Array(element=element, count=count):
            return f"{show(element)}[{count}]"
        case Agg(kind=kind, value=value):
            unsigned = kind in ("sum", "min", "max", "avg", "stats") and not value.signed
            return f"{'u' if unsigned else ''}{kind}_t"
        case _:
            return str(t)


def family(t: Type) -> str:
    """The kind of a type, without its size: ``int``, ``string``, ``pointer``..."""
    match t:
        case Int() | Enum():
            return "int"
        case Bool():
            return "bool"
        case String():
            return "string"
        case Buffer():
            return "buffer"
        case Pointer():
            return "pointer"
        case Array():
            return "array"
        case Tuple():
            return "tuple"
        case Record():
            return "record"
        case Struct():
            return "c_type"
        case Void():
            return "void"
        case Opaque(kind=("kstack" | "ustack") as kind):
            return kind
        case _:
            return show(t)
