"""The reader of perf.data under atheris, which is guided by what of it is reached.

`pip install atheris; python tests/fuzz/formats/atheris_perfdata.py [-max_total_time=900] [CORPUS]`, as libFuzzer takes
it. The seeds of fuzz_perfdata are put into CORPUS where it is empty. Not part of any other run: atheris has wheels for
some Pythons and machines only.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path[:0] = [str(Path(__file__).resolve().parents[3] / part) for part in ("src", "tests/support")]

with atheris.instrument_imports(include=["probescope"]):
    import fuzz_perfdata


def main() -> None:
    folders = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    for folder in folders[:1]:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            for name, data in fuzz_perfdata.SEEDS.items():
                (folder / name).write_bytes(data)
    atheris.Setup(sys.argv, lambda data: fuzz_perfdata.one(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
