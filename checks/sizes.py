"""Files and functions stay small: `python -m checks.sizes`.

Every file and function has a hard limit, and the middle of the distribution is held too, so that the code cannot
drift towards the limits. A docstring does not count against its function.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Limit:
    """Lines allowed: the hard limit of a file and of a function, and the 90th percentile of the functions."""

    file: int
    function: int
    function_p90: int


LIMITS = {
    "src": Limit(file=400, function=60, function_p90=30),
    "vmtest": Limit(file=400, function=60, function_p90=30),
    "checks": Limit(file=400, function=60, function_p90=30),
    "bench": Limit(file=400, function=60, function_p90=40),
    "tests": Limit(file=600, function=80, function_p90=40),
}


@dataclass(frozen=True, slots=True)
class Size:
    lines: int
    where: str


def function_sizes(tree: ast.AST, path: str) -> Iterator[Size]:
    """Length in lines of each function, its docstring not counted, inner functions counted in their outer one too."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines -= (first.end_lineno or first.lineno) - first.lineno + 1
        yield Size(lines, f"{path}:{node.lineno} {node.name}")


def percentile(sizes: list[Size], percent: int) -> int:
    ordered = sorted(s.lines for s in sizes)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0


def measure(root: Path) -> tuple[list[Size], list[Size]]:
    files: list[Size] = []
    functions: list[Size] = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        files.append(Size(text.count("\n"), name))
        functions += function_sizes(ast.parse(text, name), name)
    return files, functions


def findings(limit: Limit, files: list[Size], functions: list[Size]) -> Iterator[str]:
    for kind, sizes, most in (("file", files, limit.file), ("function", functions, limit.function)):
        for size in sorted(sizes, key=lambda s: -s.lines):
            if size.lines > most:
                yield f"{size.where}: a {kind} of {size.lines} lines, at most {most} are allowed"
    p90 = percentile(functions, 90)
    if p90 > limit.function_p90:
        yield f"one function in ten has {p90} lines or more, at most {limit.function_p90} are allowed"


def main() -> int:
    bad = 0
    for name, limit in LIMITS.items():
        if not (ROOT / name).is_dir():
            continue
        files, functions = measure(ROOT / name)
        print(
            f"{name:8} {len(files):4} files      p50 {percentile(files, 50):4}  p90 {percentile(files, 90):4}"
            f"  largest {percentile(files, 100):4} lines\n"
            f"{'':8} {len(functions):4} functions  p50 {percentile(functions, 50):4}  p90 {percentile(functions, 90):4}"
            f"  largest {percentile(functions, 100):4} lines"
        )
        for finding in findings(limit, files, functions):
            print(finding)
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
