"""The end of a file: which of the mapped files were hit, their build-ids and symbols, then the header."""

from __future__ import annotations

from probescope.collect.recorder.files import Files
from probescope.collect.recorder.request import RecordRequest, Written
from probescope.collect.recorder.rings import Rings


def finish_file(files: Files, request: RecordRequest, rings: Rings, *, last: bool, named: bool) -> Written:
    files.finish()
    path = files.name_by_time() if named and not files.pipe else files.path
    return Written(path, files.size)
