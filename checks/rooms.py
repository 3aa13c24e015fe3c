"""What each room may do, beyond the order of imports: `python -m checks.rooms`.

- only ``kernel/`` speaks to Linux: no other room imports a module that makes system calls of its own, or opens a path
  under /proc or /sys;
- only ``cli/`` prints and exits;
- importing the modules on the way to ``--version`` must stay cheap: no heavy module at import time there;
- no pattern repeats a group possessively: Python before 3.11.5 matches that wrongly, and Debian 12 has 3.11.2;
- every package says in its docstring what comes in, what goes out and who may import it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src" / "probescope"

#: Modules that reach the kernel without going through ``open()``; the rooms that may import them.
SYSTEM_MODULES = {
    "ctypes": {"kernel"},
    "fcntl": {"kernel"},
    "resource": {"kernel"},
    "mmap": {"kernel", "debuginfo"},
    "select": {"kernel"},
    "signal": {"kernel", "cli", "lang"},  # lang/ reads names and numbers of signals
    "socket": {"kernel", "lang"},  # lang/ turns texts into addresses
    "subprocess": {"kernel"},
}
#: Never at import time, anywhere: each costs more than the whole start-up budget leaves for it.
HEAVY_MODULES = {"numpy", "asyncio", "inspect", "typing_extensions", "logging", "multiprocessing"}
POSSESSIVE_GROUPS = (")*+", ")++", ")?+", "(?>")
#: Modules that work on columns may import numpy, and others may import them inside functions only.
COLUMN_MODULES = {
    "probescope.collect.columns",
    "probescope.collect.ftrace.live",
    "probescope.collect.ftrace.stacks",
    "probescope.collect.graph.mixed",
    "probescope.collect.latency.synthetic",
    "probescope.collect.recorded.histogram",
    "probescope.debuginfo.crossrefs",
    "probescope.debuginfo.crossrefs_code",
    "probescope.views.graph.others",
    "probescope.views.latency.samples",
    "probescope.views.latency.totals",
    "probescope.views.whois.kernel",
}
#: Readers of recordings and programs over them: columns all through, but for the packages' own fronts; opened inside
#: functions only.
COLUMN_ROOMS = (
    "probescope.formats.",
    "probescope.evaluate.columns.",
    "probescope.collect.stream.",
    "probescope.views.tracecmd.",
    "probescope.store.build.",
    "probescope.store.lod.",
    "probescope.views.timeline.",
)
#: Rooms of their own, which are opened inside functions only, and what they are made of.
MADE_OF = {"asyncio": ("probescope.views.timeline.",)}
PRINTING_ROOMS = {"cli"}
OPENERS = {"open", "Path", "listdir", "scandir", "stat", "readlink", "walk"}


def imported(node: ast.AST) -> Iterator[str]:
    """Top-level names of the modules that one import statement brings in."""
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.split(".")[0]


def runs_at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement that an import of the module executes: not function bodies, not ``if TYPE_CHECKING``."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            stack += node.orelse
            continue
        yield node
        stack += ast.iter_child_nodes(node)


def dotted(path: Path) -> str:
    """The name of the module in a file: ``probescope.collect.columns``."""
    parts = path.with_suffix("").parts
    return ".".join(parts[len(parts) - 1 - parts[::-1].index("probescope") :]) if "probescope" in parts else path.stem


def works_on_columns(path: Path) -> bool:
    name = dotted(path)
    return name in COLUMN_MODULES or (name.startswith(COLUMN_ROOMS) and path.name != "__init__.py")


def may_be_heavy(path: Path, module: str) -> bool:
    return works_on_columns(path) if module == "numpy" else dotted(path).startswith(MADE_OF.get(module, ("-",)))


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def literal_start(node: ast.expr) -> str:
    """The constant text that an expression begins with, as far as it can be told."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return literal_start(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def is_possessive(text: str) -> bool:
    return "\n" not in text and any(sign in text for sign in POSSESSIVE_GROUPS)


def call_findings(room: str, node: ast.Call) -> Iterator[str]:
    name = called(node)
    if name == "print" and isinstance(node.func, ast.Name) and room not in PRINTING_ROOMS:
        yield "only cli/ prints: raise, or return the text"
    through_kernel = ast.unparse(node.func).startswith("host().")
    opens = name in OPENERS and room != "kernel" and not through_kernel and node.args
    if opens and literal_start(node.args[0]).startswith(("/proc", "/sys")):
        yield f"only kernel/ opens {literal_start(node.args[0])}"


def findings(path: Path) -> Iterator[str]:
    parts = path.relative_to(SRC).parts
    room = parts[0].removesuffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for module in imported(node):
            if room not in SYSTEM_MODULES.get(module, {room}):
                yield f"{line}: only {', '.join(sorted(SYSTEM_MODULES[module]))}/ may import {module}"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_possessive(node.value):
            yield f"{line}: a possessive group in a pattern: Python 3.11.2 matches it wrongly"
        if isinstance(node, ast.Call):
            yield from (f"{line}: {finding}" for finding in call_findings(room, node))
    for node in runs_at_import(tree):
        for module in imported(node):
            if module in HEAVY_MODULES and not may_be_heavy(path, module):
                yield f"{getattr(node, 'lineno', 0)}: {module} is imported at import time: do it inside the function"
        if isinstance(node, ast.ImportFrom) and node.module in COLUMN_MODULES and not works_on_columns(path):
            yield f"{node.lineno}: {node.module} is imported at import time: do it inside the function"
    if path.name == "__init__.py" and not ast.get_docstring(tree):
        yield "1: a package says in its docstring what comes in, what goes out and who may import it"


def main() -> int:
    bad = 0
    for path in sorted(SRC.rglob("*.py")):
        for finding in findings(path):
            print(f"{path.relative_to(SRC.parent.parent)}:{finding}")
            bad += 1
    print(f"rooms: {bad or 'no'} finding{'' if bad == 1 else 's'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
