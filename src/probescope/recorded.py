"""Programs on recordings: texts and files to plans, as front.py and api.build do it for this machine.

A recording has probes of its own (sources/recorded.py) and answers what was recorded (plan/events.py). Of this machine
only the command line counts, and the names of files that are still the recorded ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.errors import UsageError

if TYPE_CHECKING:
    from probescope.api import Built, Request
    from probescope.formats.sniff import AnyRecording
    from probescope.ir.program import Program
    from probescope.lang.bt.check_program import Environment
    from probescope.model.recording import Recording


def build(request: Request) -> Built:
    """Raises UsageError, ScriptError, ProbeError, or FormatError where the file is no recording."""
    _check(request)
    recording = opened(request.input)
    try:
        return build_on(request, recording)
    except BaseException:
        recording.close()
        raise


def opened(path: str) -> AnyRecording:
    """A recording, or the text of one: its fields by what this kernel knows of such events. Raises as
    ``open_recording``."""
    from probescope.formats.sniff import open_recording, recording_kind
    from probescope.sources.known_formats import known_formats

    return open_recording(path, known_formats() if recording_kind(path).startswith("text") else None)


def probes(path: str, patterns: Sequence[str] = ()) -> list[str]:
    """What a program on a recording may name; ``patterns``: globs, or words that the names contain."""
    from probescope.sources.globs import is_glob, matches
    from probescope.sources.recorded import RecordedSites

    with opened(path) as recording:
        names = RecordedSites(recording.events, path).listed
    wanted = [w if is_glob(w) else f"*{w}*" for w in patterns] or ["*"]
    return [n for n in names if any(matches(w, n) for w in wanted)]


def _check(request: Request) -> None:
    """Raises UsageError for what has no meaning where everything has happened."""
    for given, what in (
        (request.command, "-c starts a program: with -i everything has happened already"),
        (request.follow, "--follow needs a running process"),
        (request.mode, f"--{request.mode} runs nothing of a recording"),
        (request.via not in ("auto", "replay"), f"--via {request.via} is for this machine, and -i reads a recording"),
    ):
        if given:
            raise UsageError(what, hints=["leave one of the two away"])


def build_on(request: Request, recording: AnyRecording) -> Built:
    """The same for a recording that is open; the session closes it."""
    from probescope.api import Built
    from probescope.diagnostics import Source
    from probescope.evaluate.columns.runner import by_rows
    from probescope.lang.bt.compiler import compile_script
    from probescope.plan.events import Recorded, plan_replay

    done = compile_script(Source(request.name, request.text), environment(request, recording))
    comms = any(e.sampled for e in recording.events)
    wall = getattr(recording, "features", {}).get("CLOCK_DATA") is not None
    replayed = _stacked(recording, done.program)
    found = Recorded(request.input, replayed.events, recording.machine, comms, wall)
    plan = plan_replay(done.program, found, by_rows, pid=request.pid)
    return Built(request, done.program, plan, (*done.warnings, *plan.warnings), replayed)


def _stacked(recording: AnyRecording, program: Program) -> Recording:
    """Stacks of ftrace are events of their own: they go to those that they are of, where a program asks for them."""
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText
    from probescope.ir.needs import needs

    asks = any(s.startswith("kstack") for c in program.clauses for s in needs(c).stacks)
    if not asks or not isinstance(recording, TraceDat | TraceText):
        return recording
    from probescope.collect.recorded.traced import Traced

    return Traced(recording, processes=False)


def environment(request: Request, recording: AnyRecording) -> Environment:
    """The recording and the command line, as a script is compiled against them."""
    from probescope.front import probe_filter, script_options
    from probescope.host_types import kernel_types
    from probescope.lang.bt.check_program import Environment
    from probescope.model.arch import X86_64, by_name
    from probescope.sources.recorded import RecordedSites

    return Environment(
        resolve=RecordedSites(recording.events, request.input),
        types=kernel_types(),  # names of constants; what events hold is described by the recording alone
        script=script_options(request),
        pid=request.pid,
        unsafe=request.unsafe,
        arch=by_name(recording.machine.arch) or X86_64,
        ncpus=max(1, recording.machine.cpus),
        probe_filter=probe_filter(request.probe_filter),
    )
