"""Shapes of the JSON documents that commands print: names and types, checked both ways."""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)

ROW = {
    "mechanism": str,
    "through": str,
    "here": str,
    "used": bool,
    "why": str,
    "cost_ns": int,
    "cost": str,
    "measured": bool,
    "interface": str,
    "privileges": str,
    "permitted": bool,
}
PART = {
    "clause": int,
    "line": int,
    "probe": str,
    "sites": [str],
    "usable": bool,
    "reason": str,
    "mechanism": str,
    "asks": [str],
    "mechanisms": [ROW],
    "variants": [{"asks": str, "mechanism": str, "cost_ns": int, "why": str}],
    "interface": str,
    "stability": str,
    "kernel": str,
    "arguments": [str],
    "notes": [str],
    "instead": [{"probe": str, "why": str}],
    "equivalents": [{"tool": str, "command": str, "gives": str, "here": str}],
}
EXPLANATION = {
    "asked": str,
    "program": bool,
    "parts": [PART],
    "setup": [str],
    "steps": [dict],
    "steps_hold_elsewhere": bool,
    "attach_ms": NUMBER,
    "detach_ms": NUMBER,
    "notes": [str],
    "equivalents": [{"tool": str, "command": str, "gives": str}],
}
EXPLAIN = {"kernel": str, "machine": str, "costs_measured": bool, "explanations": [EXPLANATION]}
FEATURE = {
    "name": str,
    "answer": str,
    "label": str,
    "reason": str,
    "errno": int,
    "remedies": [{"kind": str, "text": str}],
    "purpose": str,
    "get": str,
    "since": str,
}
DOCTOR = {
    "probescope": str,
    "kernel": str,
    "machine": str,
    "uid": int,
    "can_trace_with_bpf": bool,
    "missing_capabilities": [str],
    "lockdown": str,
    "tracefs": {"path": str, "state": str},
    "kernel_config_known": bool,
    "settings": dict,
    "features": [FEATURE],
    "leftovers": [{"kind": str, "name": str, "pid": int, "alive": bool}],
    "started": [{"instance": str, "top": bool}],
}


def wrong(value: Any, shape: Any, where: str = "") -> list[str]:
    """What does not fit: missing and surplus names, other types."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where}: {type(value).__name__} is no object"]
        out = [f"{where}.{k} is missing" for k in shape.keys() - value.keys()]
        out += [f"{where}.{k} is not described" for k in value.keys() - shape.keys()]
        return out + [w for k in shape.keys() & value.keys() for w in wrong(value[k], shape[k], f"{where}.{k}")]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where}: {type(value).__name__} is no array"]
        return [w for i, v in enumerate(value) for w in wrong(v, shape[0], f"{where}[{i}]")]
    kinds = shape if isinstance(shape, tuple) else (shape,)
    return [] if type(value) in kinds else [f"{where}: {value!r} is no {shape}"]
