"""Where a buffer is, and how its files are written: an instance of our own, which goes with everything in it; or the
top buffer, where nobody uses it, each file of which is put back.
"""

from __future__ import annotations

from contextlib import suppress

from probescope.errors import KernelError
from probescope.kernel import tracefs
from probescope.kernel.borrowed import SETTINGS, Borrowed

_LISTS = {"set_event_pid", "set_event_notrace_pid", "set_ftrace_notrace_pid"}


class Place:
    """``base``: the folder. ``borrowed``: what undoes changes outside of our own instances. Raises KernelError,
    SessionError."""

    def __init__(self, name: str, base: str, borrowed: Borrowed, *, private: bool) -> None:
        self.name, self.base, self.private = name, base, private
        self._borrowed = borrowed
        self._options: list[str] = []  # as they were

    def read(self, file: str) -> str:
        return tracefs.read(file, self.base)

    def write(self, file: str, text: str) -> None:
        if self.private:
            if file == "trace_options":
                self._option(text)
            tracefs.write(file, text, self.base)
        elif file in SETTINGS:
            self._borrowed.write(file, text)
        else:
            self._note(file, text)
            tracefs.write(file, text, self.base)

    def size(self, kb: int, *, fresh: bool) -> None:
        """Room of each CPU's buffer. ``fresh``: no event of it is on yet."""
        if self.private and fresh:
            tracefs.size_buffer(self.base, kb)
        else:
            self.write("buffer_size_kb", str(kb))

    def _option(self, text: str) -> None:
        """A tracer's options are those of all buffers on most kernels, ours in an instance too."""
        bare = text.removeprefix("no")
        before = next((o for o in self.read("trace_options").split() if o in {text, bare, f"no{bare}"}), "")
        if before and before != text:
            folder = self.base.removeprefix(tracefs.find_root()).lstrip("/")
            self._borrowed.note(f"{folder}/trace_options", before)
            self._options.append(before)

    def leave(self) -> None:
        """The instance without its tracer, and its options as they were: ready to be removed."""
        for option in reversed(self._options):
            with suppress(KernelError):
                tracefs.write("trace_options", option, self.base)
        self._options = []
        with suppress(KernelError):
            tracefs.write("current_tracer", "nop", self.base)

    def everywhere(self, file: str, text: str) -> None:
        """A setting of the whole machine."""
        if file in SETTINGS:
            self._borrowed.write(file, text)
        else:
            self._borrowed.change(file, text, str)

    def _note(self, file: str, text: str) -> None:
        """What undoes it, before it is done."""
        if file in _LISTS:
            self._borrowed.note(file, "", truncate=True)
        elif file == "trace_options":
            bare = text.removeprefix("no")
            before = next((o for o in self.read(file).split() if o in {text, bare, f"no{bare}"}), "")
            if before:
                self._borrowed.note(file, before)
        elif file == "trace_clock":
            self._borrowed.note(file, self.read(file).partition("[")[2].partition("]")[0] or "local")
        elif file == "buffer_size_kb":
            self._borrowed.note(file, tracefs.told_size(self.read(file)))
        elif file.endswith("/trigger"):
            self._borrowed.note(file, f"!{text}")
        elif file.endswith(("/filter", "/enable")):
            self._borrowed.note(file, "0")
        else:
            self._borrowed.note(file, self.read(file).strip())
