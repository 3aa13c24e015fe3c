"""The programs in bpftrace's unit tests, out of a checkout, with what its authors expect of each.

    for case in cases(root, "type_checker"): ...

One row of ``SUITES`` says how the helpers of a file are to be read. Nothing of the suite is kept here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from conformance_cpp import Call, Value, Walker


@dataclass(frozen=True)
class Case:
    """``refused``: whether the program is expected to be refused; ``None`` if only its warnings matter. ``said``: what
    is expected to be said, as far as the test says it. ``stage``: ``parse`` (the text alone) or ``whole``."""

    suite: str
    line: int
    program: str
    refused: bool | None
    said: str = ""
    stage: str = "whole"
    params: tuple[str, ...] = ()
    unsafe: bool = False
    features: bool = True

    @property
    def place(self) -> tuple[int, int, int] | None:
        """Line, column and end column of the first thing said; a line alone has columns 0."""
        return _stated_place(self.said) or _drawn_place(self.said, self.program)

    @property
    def message(self) -> str:
        """The first message, without its place."""
        head = next((line for line in self.said.split("\n") if line.strip()), "")
        found = re.search(r"(?:ERROR|WARNING): (.*)", head)
        return found[1] if found else head


def _stated_place(said: str) -> tuple[int, int, int] | None:
    found = re.match(r"\s*\w+:(\d+)(?::(\d+)-(\d+)|-\d+): ", said)
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None


def _drawn_place(said: str, program: str) -> tuple[int, int, int] | None:
    """From the line of the program and the mark under it."""
    lines = said.strip("\n").split("\n")
    for text, mark in pairwise(lines):
        found = re.fullmatch(r" *(~+) *", mark)
        if found and text in program.split("\n"):
            return program.split("\n").index(text) + 1, found.start(1) + 1, found.end(1) + 1
    return None


@dataclass(frozen=True)
class Suite:
    """``read``: what one call of one of ``helpers`` says, or ``None`` for nothing."""

    helpers: tuple[str, ...]
    read: Callable[[Call], Case | None]


def cases(root: str, suite: str) -> Iterator[Case]:
    text = Path(f"{root}/tests/{suite}.cpp").read_text()
    rule = SUITES[suite]
    for call in Walker(text, frozenset(rule.helpers)).calls():
        case = rule.read(call)
        if case is not None:
            yield case


# --- how helpers are read ---------------------------------------------------------------------------------------------


def _shifted(call: Call) -> tuple[list[Value], bool]:
    """The arguments without a leading tracer object, and whether there was one."""
    values = list(call.strings)
    given = bool(values) and re.fullmatch(r"\*?\w*bpftrace", call.text(0)) is not None
    return (values[1:] if given else values), given


def _text(values: list[Value], index: int) -> str:
    found = values[index] if index < len(values) else ""
    return found if isinstance(found, str) else ""


def _parser(call: Call) -> Case | None:
    values, given = _shifted(call)
    program = _text(values, 0)
    if not program:
        return None
    failing = call.helper != "test"
    params = call.params if given else ()
    said = _text(values, 1) if failing else ""
    stage = "defines" if "macro" in call.helper else "parse"
    return Case("parser", call.line, program, failing, said, stage, params)


_TAG = re.compile(r"^(Error|Warning|NoWarning)\{")


def _type_checker(call: Call) -> Case | None:
    program = _text(list(call.strings), 0).lstrip("\n")
    if not program:
        return None
    tags = {m[1]: call.strings[i] for i in range(1, len(call.args)) if (m := _TAG.match(call.text(i)))}
    error = tags.get("Error")
    said = _text(error, 0) if isinstance(error, list) else ""
    return Case(
        "type_checker",
        call.line,
        program,
        "Error" in tags,
        said,
        "whole",
        call.params if "Mock{" in call.everything else (),
        "UnsafeMode::Enable" in call.everything,
        "NoFeatures" not in call.everything,
    )


def _error_second(suite: str) -> Callable[[Call], Case | None]:
    """``test(program, error, warning, safe)``."""

    def read(call: Call) -> Case | None:
        values = list(call.strings)
        program, said = _text(values, 0).lstrip("\n"), _text(values, 1)
        if isinstance(values[1] if len(values) > 1 else "", list):  # Error{ "..." }
            said = _text(values[1], 0)  # type: ignore[arg-type]
        refused = bool(said) or call.text(1).startswith("Error")
        unsafe = call.text(3) == "false"
        return Case(suite, call.line, program, refused, said, unsafe=unsafe) if program else None

    return read


def _by_helper(suite: str, **more: str) -> Callable[[Call], Case | None]:
    """``test(program)``, ``test_error([tracer,] program, error)``, ``test_warning(program, warning)``."""

    def read(call: Call) -> Case | None:
        values, given = _shifted(call)
        program = _text(values, 0)
        refused = call.helper == "test_error"
        said = _text(values, -1 if len(values) > 1 else 1) if refused else ""
        features = "false" not in [call.text(i) for i in range(len(call.args))]
        params = call.params if given else ()
        found = Case(suite, call.line, program, refused, said, "whole", params, call.unsafe and given, features)
        return found if program else None

    return read


def _folded(call: Call) -> Case | None:
    """The program is put into a clause first."""
    inside = _text(list(call.strings), 0)
    if not inside:
        return None
    alone = call.helper == "test_comptime_if"
    end = "" if alone else " exit();" if inside[-1] in "};" else "; exit();"
    said = _text(list(call.strings), 1) if call.helper == "test_error" else ""
    return Case("fold_literals", call.line, f"begin {{ {inside}{end} }}", call.helper == "test_error", said)


def warned(root: str) -> Iterator[Case]:
    """Programs of the type checker's test of which a warning is expected (``refused`` says so) or ruled out; ``said``
    is the warning."""
    text = Path(f"{root}/tests/type_checker.cpp").read_text()
    for call in Walker(text, frozenset({"test"})).calls():
        case = _type_checker(call)
        for i in range(1, len(call.args)):
            tag = _TAG.match(call.text(i))
            value = call.strings[i]
            if case is not None and tag and tag[1] != "Error" and isinstance(value, list):
                yield replace(case, refused=tag[1] == "Warning", said=_text(value, 0))


def folded_values(root: str) -> Iterator[tuple[int, str, int | str]]:
    """Line, expression and value of each constant expression whose value is expected."""
    text = Path(f"{root}/tests/fold_literals.cpp").read_text()
    for call in Walker(text, frozenset({"test"})).calls():
        inside, expected = _text(list(call.strings), 0), call.text(1)
        number = re.fullmatch(r"(Negative|)Integer\((-?(?:0x)?[0-9a-fA-F]+)U?L*\)", expected)
        truth = re.fullmatch(r"Boolean\((true|false)\)", expected)
        if not inside or ";" in inside:
            continue
        if number:
            value = int(number[2], 0)
            yield call.line, inside, value - (1 << 64) if number[1] and value > 0 else value
        elif truth:
            yield call.line, inside, int(truth[1] == "true")
        elif expected.startswith("String("):
            yield call.line, inside, call.args[1][2].text


def _with_result(suite: str) -> Callable[[Call], Case | None]:
    """``test([tracer,] program, [error,] ok)``, where ok is a bool, or the number of failures."""

    def read(call: Call) -> Case | None:
        values, given = _shifted(call)
        program = _text(values, 0)
        last = call.text(len(call.args) - 1)
        refused = last == ("1" if suite in ("portability_analyser", "control_flow_analyser") else "false")
        said = _text(values, 1) if refused else ""
        return Case(suite, call.line, program, refused, said, params=call.params if given else ()) if program else None

    return read


def _c_declarations(call: Call) -> Case | None:
    """``parse(declarations, tracer, ok, probe)``."""
    head = _text(list(call.strings), 0)
    probe = _text(list(call.strings), 3) or "kprobe:sys_read { 1 }"
    return Case("clang_parser", call.line, head + probe, call.text(2) == "false", _text(list(call.strings), 4))


SUITES = {
    "parser": Suite(("test", "test_parse_failure", "test_macro_parse_failure"), _parser),
    "type_checker": Suite(("test",), _type_checker),
    "pre_type_check": Suite(("test",), _error_second("pre_type_check")),
    "type_resolver": Suite(("test",), _error_second("type_resolver")),
    "unstable_feature": Suite(("test", "test_error"), _by_helper("unstable_feature")),
    "macro_expansion": Suite(("test", "test_error", "test_warning"), _by_helper("macro_expansion")),
    "builtins": Suite(("test", "test_error"), _by_helper("builtins")),
    "named_param": Suite(("test", "test_error"), _by_helper("named_param")),
    "attachpoint_passes": Suite(("test", "test_error"), _by_helper("attachpoint_passes")),
    "fold_literals": Suite(("test", "test_error", "test_warning", "test_not", "test_comptime_if"), _folded),
    "config_analyser": Suite(("test",), _with_result("config_analyser")),
    "field_analyser": Suite(("test",), _with_result("field_analyser")),
    "resource_analyser": Suite(("test",), _with_result("resource_analyser")),
    "control_flow_analyser": Suite(("test",), _with_result("control_flow_analyser")),
    "clang_parser": Suite(("parse",), _c_declarations),
}
