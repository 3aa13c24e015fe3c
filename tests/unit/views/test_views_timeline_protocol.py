"""The wire: what is no question is refused, and replies come out as they went in."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from probescope.errors import FormatError
from probescope.views.timeline.guard import HEADERS, new_token, refused
from probescope.views.timeline.names import Names, Told
from probescope.views.timeline.protocol import OPS, RefusedQuestionError, decode, encode, push, question, refusal


def test_arrays_are_aligned_and_come_back() -> None:
    arrays = {
        "start": np.array([1.5, 2.0]),
        "depth": np.array([1, 2, 3], np.uint8),
        "name": np.array([7], np.uint32),
        "cpu": np.array([-1, 4], np.int32),
        "none": np.empty(0),
    }
    data = encode({"id": 3, "ok": True, "text": "ä<script>"}, arrays)
    (length,) = struct.unpack_from("<I", data)
    assert (4 + length) % 8 == 0
    assert len(data) % 8 == 0
    described = json.loads(data[4 : 4 + length])["arrays"]
    assert all(at % 8 == 0 for _, at, _ in described.values())
    head, found = decode(data)
    assert head == {"id": 3, "ok": True, "text": "ä<script>"}
    assert {n: a.tolist() for n, a in found.items()} == {n: a.tolist() for n, a in arrays.items()}


def test_refusals_and_pushes() -> None:
    assert decode(refusal(4, "no", "do so", 9))[0] == {"id": 4, "ok": False, "error": "no", "hint": "do so", "at": 9}
    assert decode(push("grown", end=5))[0] == {"id": 0, "push": "grown", "end": 5}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0),
        ("[]", 0),
        ("{", 0),
        ("[" * 100_000, 0),
        ('{"id": 0, "op": "open"}', 0),
        ('{"id": true, "op": "open"}', 0),
        ('{"id": 1.5, "op": "open"}', 0),
        ('{"id": 9, "op": "shell"}', 9),
        ('{"id": 9, "op": ["open"]}', 9),
        ('{"id": 9, "op": "slices", "args": []}', 9),
        ('{"id": 9, "op": "slices", "args": {"track": "cpu:0:0"}}', 9),
        ('{"id": 9, "op": "slices", "args": {"track": 3, "start": 0, "end": 1, "width": 1}}', 9),
        ('{"id": 9, "op": "slices", "args": {"track": "a", "start": "0", "end": 1, "width": 1}}', 9),
        ('{"id": 9, "op": "slices", "args": {"track": "a", "start": NaN, "end": 1, "width": 1}}', 9),
        ('{"id": 9, "op": "slices", "args": {"track": "a", "start": 1e300, "end": 1, "width": 1}}', 9),
        ('{"id": 9, "op": "select", "args": {"start": 0, "end": 1, "what": "top", "tracks": [1]}}', 9),
        ('{"cancel": "x"}', 0),
    ],
)
def test_what_is_no_question_is_refused_with_its_number(text: str, number: int) -> None:
    with pytest.raises(RefusedQuestionError) as caught:
        question(text)
    assert caught.value.id == number


def test_questions() -> None:
    assert question('{"cancel": 5}').cancels == 5
    asked = question('{"id": 2, "op": "tracks", "args": {"parent": null, "limit": 5, "extra": 1}}')
    assert (asked.id, asked.op, dict(asked.args)) == (2, "tracks", {"limit": 5})


def test_every_question_has_an_answer() -> None:
    from probescope.views.timeline.service import ANSWERS

    assert set(ANSWERS) == set(OPS) - {"stop", "record"}


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xff\xff\xff{}", struct.pack("<I", 2) + b"[]", struct.pack("<I", 4) + b"{}"]
)
def test_what_is_no_reply_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        decode(data)


def test_names_are_told_once() -> None:
    names = Names()
    told = Told(names)
    numbers = names.numbers(["a", "b", "a", "<i>"])
    assert numbers.tolist() == [1, 2, 1, 3]
    assert told.fresh(numbers[:3]) == {"1": "a", "2": "b"}
    assert told.fresh(numbers) == {"3": "<i>"}
    assert told.fresh(names.numbers([f"n{i}" for i in range(5000)]))["4"] == "n0"
    assert told.fresh(numbers) == {}


TOKEN = new_token()


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost:80", "[::1]:80", "LOCALHOST:80"])
@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:80", "http://localhost:80"])
def test_its_own_page_may_ask(host: str, origin: str | None) -> None:
    assert refused(TOKEN, 80, given=TOKEN, host=host, origin=origin) == ""


@pytest.mark.parametrize("host", ["", "evil.example:80", "127.0.0.1", "127.0.0.1:81", "127.0.0.1:80.evil.example"])
def test_other_names_of_the_server_are_refused(host: str) -> None:
    assert "another name" in refused(TOKEN, 80, given=TOKEN, host=host, origin=None)


@pytest.mark.parametrize("origin", ["", "null", "https://127.0.0.1:80", "http://evil.example", "http://127.0.0.1:81"])
def test_other_pages_are_refused(origin: str) -> None:
    assert "none of" in refused(TOKEN, 80, given=TOKEN, host="127.0.0.1:80", origin=origin)


@pytest.mark.parametrize(
    "given", ["", "x", TOKEN[:-1], TOKEN + "a", "ä"], ids=["none", "x", "less", "more", "not-ASCII"]
)
def test_wrong_tokens_are_refused(given: str) -> None:
    assert "token" in refused(TOKEN, 80, given=given, host="127.0.0.1:80", origin=None)


def test_nothing_may_run_or_load_from_elsewhere() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
