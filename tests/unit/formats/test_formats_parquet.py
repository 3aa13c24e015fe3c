"""What Parquet needs besides the file that it becomes: a folder, which may be full or have an odd name."""

from __future__ import annotations

import io
import resource

import pytest

from probescope.errors import LimitError
from probescope.formats.tables import ParquetWriter

duckdb = pytest.importorskip("duckdb", reason="the extra 'tables' is not installed")


def test_folders_may_have_any_name(tmp_path):
    """A quote in TMPDIR is a character of a name, not the end of a statement."""
    folder = tmp_path / "it's"
    folder.mkdir()
    file = io.BytesIO()
    writer = ParquetWriter(file, str(folder))
    writer.write({"a": [1, 2]})
    writer.close()
    (tmp_path / "x.parquet").write_bytes(file.getvalue())
    assert duckdb.sql(f"select sum(a) from read_parquet('{tmp_path}/x.parquet')").limit(1).fetchall() == [(3,)]
    assert list(folder.iterdir()) == []


def written(folder, chunks):
    import numpy as np

    writer = ParquetWriter(io.BytesIO(), folder)
    try:
        for seed in range(chunks):
            writer.write({"a": np.random.default_rng(seed).integers(0, 1 << 62, 10000)})
        writer.close()
    finally:
        writer.abandon()


def test_a_full_disk_is_told(tmp_path):
    """A file that may not grow is as good as a full disk: the error names the folder, and nothing is left in it."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, old[1]))
    try:
        with pytest.raises(LimitError, match="Parquet cannot be written") as told:
            written(str(tmp_path), 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert str(tmp_path) in told.value.hints[0]
    assert list(tmp_path.iterdir()) == []
