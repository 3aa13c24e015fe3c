"""A fuzzer of this folder led by what its inputs reach: `python tests/fuzz/formats/coverage_guided.py NAME SECONDS`.

NAME is a module that has ``SEEDS`` and ``one``: fuzz_tracedat, fuzz_tracetext. Needs atheris (`pip install atheris`),
which is no dependency of the tests: they mutate at random.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support"), str(FOLDER)]


def main(name: str, seconds: str) -> None:
    try:
        import atheris  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris")
    rooms = [f"probescope.formats.{room}" for room in ("tracedat", "tracing", "tracetext")]
    with atheris.instrument_imports(include=rooms):
        fuzzer = importlib.import_module(name)
        for module in ("tracedat.reader", "tracing.text", "tracetext.reader", "tracetext.perf_reader"):
            importlib.import_module(f"probescope.formats.{module}")
    corpus = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    for seed, data in fuzzer.SEEDS.items():
        (corpus / seed).write_bytes(data)
    # atheris keeps some 10 KB of each run, also where it instruments nothing: an input is held to its allocations
    memory = ["-rss_limit_mb=0", "-malloc_limit_mb=1500"]
    limits = [f"-max_total_time={seconds}", "-timeout=300", *memory, "-max_len=60000"]
    atheris.Setup([sys.argv[0], str(corpus), *limits, "-print_final_stats=1"], fuzzer.one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:3])
