"""Damaged recordings and strange folded text through every writer: a file, or an error of ours and no file."""

from __future__ import annotations

import os
import random
from pathlib import Path

import formats_perfmaker as pm
import formats_tracemaker as tm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.cli.main import main
from probescope.errors import InternalError, ProbescopeError
from probescope.views.export.kinds import KINDS

KIND = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | pm.CALLCHAIN | pm.RAW, (7,), type=2, config=5)
FORMAT = b"""name: x
ID: 5
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:1;

print fmt: "%s", __get_str(name)
"""


def recording() -> bytes:
    m = pm.PerfMaker([KIND], features={})
    tracing = b"\x17\x08\x44tracing0.6\0\0\x08" + m.pack("I", 4096)
    tracing += b"header_page\0" + m.pack("Q", 0) + b"header_event\0" + m.pack("Q", 0) + m.pack("I", 0)
    tracing += m.pack("I", 1) + b"s\0" + m.pack("IQ", 1, len(FORMAT)) + FORMAT + m.pack("IIQ", 0, 0, 0)
    m.features = {1: tracing}
    for i in range(12):
        raw = m.pack("HHIHH", 5, 0, 7, 12, 8) + b"na\x1bme\n\xff\0"
        raw += bytes(-(len(raw) + 4) % 8)
        stack = [(1 << 64) - 512, 4096 + i, 8192]
        sample = pm.Sample(ip=4096, pid=7, tid=7, time=10**9 + i, cpu=i % 2, stack=stack, raw=raw, id=7)
        pm.add_sample(m, KIND, sample)
    return m.build()


WHOLE = {
    "perf.data": recording(),
    "trace.dat": tm.Maker(version=6).build(("", tm.events(30)), ("other", tm.events(5))),
    "folded": b"main;a;b 3\nmain;a 2.5\n# comment\nother 1\n",
}


def exported(folder: Path, data: bytes, kind: str, name: str = "in") -> int:
    (folder / name).write_bytes(data)
    try:
        code = main(["export", str(folder / name), "--to", kind, "-q", "-o", str(folder / "out")])
    except InternalError:
        raise
    except ProbescopeError as error:
        code = error.exit_code
    assert code == 0 or not (folder / "out").exists()
    assert not list(folder.glob("*.part*"))
    (folder / "out").unlink(missing_ok=True)
    return code


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBESCOPE_DEBUG", "1")  # what is no error of ours is raised


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", WHOLE)
def test_whole(tmp_path: Path, kind: str, source: str) -> None:
    """What is damaged below can be exported to everything that its kind can become."""
    assert exported(tmp_path, WHOLE[source], kind) == (0 if source in KINDS[kind].inputs else 2)


@pytest.mark.parametrize(("source", "kind"), [(s, k) for s in WHOLE for k in KINDS if s in KINDS[k].inputs])
def test_damaged(tmp_path: Path, kind: str, source: str) -> None:
    rng = random.Random(f"{kind}{source}{os.environ.get('PROBESCOPE_FUZZ_SEED', '')}")
    for _ in range(int(os.environ.get("PROBESCOPE_FUZZ_ROUNDS", "25"))):
        data = bytearray(WHOLE[source])
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data) + 1) if rng.random() < 0.5 else rng.randrange(min(len(data), 4000) + 1)
            match rng.randrange(4):
                case 0:
                    data[at : at + 1] = bytes([rng.randrange(256)])
                case 1:
                    data[at : at + 8] = rng.choice([b"\xff" * 8, bytes(8), b"\0\0\0\0\0\0\0\x80"])
                case 2:
                    del data[at : at + rng.randrange(64)]
                case _:
                    data[at:at] = data[at : at + rng.randrange(64)]
        exported(tmp_path, bytes(data), kind)


@settings(max_examples=30)
@given(st.binary(max_size=80), st.sampled_from(sorted(k for k, v in KINDS.items() if "folded" in v.inputs)))
def test_strange_text(tmp_path_factory: pytest.TempPathFactory, data: bytes, kind: str) -> None:
    folder = tmp_path_factory.mktemp("text")
    exported(folder, b"main;a 1\n" + data + b" 2\n", kind)
