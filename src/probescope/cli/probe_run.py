"""``probe DEFINITION [-- COMMAND]``: prints events until the command ends, the time is over, or ^C; nothing is left."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from probescope.cli.parsing import of_nobody
from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.api import Built
    from probescope.errors import ProbescopeError
    from probescope.ir.program import Program
    from probescope.lang.probe.lower import Condition, Row
    from probescope.model.output import Output
    from probescope.sources import replaced

LOOK_MS = 50


def run(args: argparse.Namespace) -> int:
    """The exit code of the session. Raises ProbeError, ScriptError, UsageError, KernelError."""
    from probescope.cli.probe_define import events, nothing

    found = events(args, args.words, nothing)
    from probescope.errors import ProbescopeError
    from probescope.sources import probe_events, probe_remembered, replaced

    probe_remembered.remember(found)
    files = {f.found.path: replaced.identity(f.found.path) for f in found if f.found.path}
    try:
        built, rows = _prepared(args, found)
        with _Printer(args, rows) as printer:
            try:
                return _session(args, built, printer)
            except ProbescopeError as e:
                reason = probe_events.unattachable(found) if not printer.attached else None
                raise reason or e from None
            finally:
                if printer.attached and printer.nothing and not args.quiet:
                    _tell_why(files, args.pid)
    finally:
        probe_remembered.take_back()


def _tell_why(files: Mapping[str, replaced.Identity | None], pid: int) -> None:
    """Why there was no event, if files tell. ``files``: what was probed, by their paths."""
    from probescope.sources.replaced import reasons

    for path, before in files.items():
        sys.stderr.write("".join(f"WARNING: there was no event: {t}\n" for t in reasons(path, before, pid)))


def _prepared(args: argparse.Namespace, found: Sequence[Any]) -> tuple[Built, tuple[Row, ...]]:
    """By a program in the kernel; where that is not permitted, or not wanted, by events of tracefs."""
    from probescope.cli import probe_traced

    condition = _condition(args)
    if probe_traced.wanted(args.via):
        return probe_traced.built(args, found, condition)
    program, rows = _program(args, found, condition)
    return _built(args, program), rows


def _condition(args: argparse.Namespace) -> Condition | None:
    if not args.filter:
        return None
    from probescope.lang.probe.filters import Filter

    return Filter(args.filter, _constant(args))


def _program(
    args: argparse.Namespace, found: Sequence[Any], condition: Condition | None
) -> tuple[Program, tuple[Row, ...]]:
    from probescope.collect.host import arch, kernel_symbols
    from probescope.lang.probe.lower import lower

    return lower(found, arch(), args.pid or -1, lambda name: kernel_symbols().address(name), condition)


def _constant(args: argparse.Namespace) -> Callable[[str], int | None]:
    """Constants of enumerations: of the binary, or of the kernel."""
    from probescope.cli.probe_define import target
    from probescope.sources.event_filters import constant

    def of_binary(name: str) -> int | None:
        debug = target(args).debug
        found = debug.types.enumerator(name.rpartition("::")[2]) if debug is not None else None
        return found[1] if found is not None else None

    return of_binary if args.binary else constant


def _built(args: argparse.Namespace, program: Program) -> Built:
    import shlex

    from probescope.api import Built, Request
    from probescope.collect.host import barred, plan_request
    from probescope.collect.options import SessionOptions
    from probescope.errors import ScriptError
    from probescope.front import followed
    from probescope.frozen import replace
    from probescope.plan.bpf import plan_bpf

    command = shlex.join(args.command)
    follow = bool(command) and not args.all
    request = Request("", "probe", command=command, pid=args.pid, follow=follow, signals=True, terminal=_terminal(args))
    request = replace(request, everything=True)  # a text that could not be read is empty: say so
    if follow:
        program = followed(program, request)
    try:
        plan = plan_bpf(program, plan_request(SessionOptions(pid=0 if follow else args.pid)))
    except ScriptError as e:
        raise barred() or _no_kprobes(program) or of_nobody(e) from None
    return Built(request, program, plan, plan.warnings)


def _no_kprobes(program: Program) -> ProbescopeError | None:
    from probescope.errors import ProbeError
    from probescope.sources import registry

    why = registry.unavailable("kprobe") if any(s.source == "kprobe" for s in program.sites) else ""
    return ProbeError(why, hints=["functions of programs: -x FILE", "probescope doctor"]) if why else None


def _terminal(args: argparse.Namespace) -> bool:
    return args.output is None and os.isatty(1)


def _session(args: argparse.Namespace, built: Built, printer: _Printer) -> int:
    session = built.session(printer)
    end = time.monotonic() + args.seconds if args.seconds else 0.0
    try:
        session.start()
        while session.poll(LOOK_MS if end else 1000):
            printer.flush()
            if (end and time.monotonic() >= end) or printer.enough:
                session.ask_stop()
        code = session.stop()
        printer.flush()
        return code
    finally:
        session.close()


class _Printer:
    """A sink of a session."""

    def __init__(self, args: argparse.Namespace, rows: Sequence[Row]) -> None:
        from probescope.collect.host import kernel_symbols
        from probescope.views.probe import ProbeLines

        def symbol(address: int) -> str:
            found = kernel_symbols().lookup(address)
            return f"{found[0]}+{found[1]:#x}" if found is not None else f"{address:#x}"

        self._lines, self._args, self._count = ProbeLines(rows, symbol), args, 0
        self._next = _next(args, rows)
        self.attached = False
        self._out = _opened(args.output) if args.output else sys.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        if self._args.output:
            self._out.close()

    @property
    def nothing(self) -> bool:
        """No event came."""
        return self._count == 0

    @property
    def enough(self) -> bool:
        return bool(0 < self._args.count <= self._count)

    def flush(self) -> None:
        self._out.flush()

    def __call__(self, output: Output) -> None:
        from probescope.diagnostics import render
        from probescope.model.output import Attached, Lost, Text, Warned

        self.attached = self.attached or isinstance(output, Attached)
        match output:
            case Text(kind="printf", values=values):
                if not self._lines.part(values):
                    self._event(values)
            case Attached(count=count) if not self._args.quiet and self._args.format == "text":
                sys.stderr.write(f"Attached {count} probe{'s' if count != 1 else ''}{self._next}\n")
                sys.stderr.flush()
            case Lost(helper=helper) if helper and self._lines.speculative:
                pass  # what is no pointer leads nowhere
            case Lost(count=count, about=about, hint=hint, helper=helper):
                hint = hint.partition("; kptr()")[0]  # which programs have
                said = f"WARNING: {about}, {count:,} times" if helper else f"LOST: {count:,} {about}"
                sys.stderr.write(f"{said}\n" + (f"HINT: {hint}\n" if hint else ""))
            case Warned(diagnostic=d):
                sys.stderr.write(f"{render(d, color=False)}\n")
            case _:
                pass

    def _event(self, values: Sequence[Any]) -> None:
        if self.enough:
            return
        self._count += 1
        if self._args.format == "json":
            import json

            self._out.write(json.dumps(self._lines.record(values)) + "\n")
        else:
            self._out.write(self._lines.text(values))


def _next(args: argparse.Namespace, rows: Sequence[Row]) -> str:
    """What can be done with a probe that nothing ends but Ctrl-C."""
    if args.command or args.seconds or args.count or not rows:
        return ""
    return f" until Ctrl-C. Then probescope record -e {rows[0].event.name} -a records it; --add keeps it for others"


def _opened(path: str) -> Any:
    try:
        return open(path, "w", encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None
