"""Probes in programs: on 6.1 one perf event a place, later many in one link; what they say is the same."""

from __future__ import annotations

import subprocess

import pytest
from collect_programs import many, work
from kernels_run import Seen, finished


@pytest.fixture(scope="module")
def path() -> str:
    return work()


def during(program: str, *command: str) -> Seen:
    return finished(program, command=" ".join(command))


def test_arguments_and_results(path: str, matrix: dict[str, str]) -> None:
    seen = during(
        f"""uprobe:{path}:numbers {{ @entry = count(); @sum = sum(arg0); }}
        uretprobe:{path}:numbers {{ @result = sum(retval); }}""",
        path,
        "numbers",
        "50",
    )
    # numbers(i, -i, ...) gives 2 * i - i
    assert seen.maps == {"@entry": 50, "@sum": sum(range(50)), "@result": sum(range(50))}
    assert set(seen.mechanisms) == {"uprobe_multi" if matrix["attach:uprobe_multi"] == "yes" else "uprobe"}


def test_strings(path: str) -> None:
    seen = during(rf'uprobe:{path}:text {{ printf("%s\n", str(arg0)); }}', path, "text", "4")
    assert [line[:6] for line in seen.lines] == ["alpha", "beta", "a text", "alpha"]


def test_many_places_know_their_names(matrix: dict[str, str]) -> None:
    """By cookie, also where each place is an event of its own."""
    binary = many(60)
    seen = during(f"uprobe:{binary}:f[0-9]* {{ @[func] = count(); }}", binary)
    assert seen.maps["@"] == {f"f{n}": 1 for n in range(60)}


def test_static_probes_and_their_semaphores(path: str) -> None:
    """The gated one runs only because somebody listens."""
    seen = during(
        f"""usdt:{path}:work:plain {{ @plain[arg0, str(arg1)] = count(); }}
        usdt:{path}:work:gated {{ @gated = sum((int64)arg0); }}""",
        path,
        "usdt",
        "6",
    )
    assert seen.maps["@plain"] == {(n, ("alpha", "beta")[n % 2]): 1 for n in range(6)}
    assert seen.maps["@gated"] == -15


def test_stacks_of_a_program_that_has_ended(path: str) -> None:
    """Symbols are found although nothing of the process is left when they are printed."""
    seen = during(f"uprobe:{path}:innermost {{ @[ustack] = count(); }}", path, "deep", "3")
    ((stack, count),) = seen.maps["@"].items()
    assert count == 3
    assert [f.symbol for f in stack.frames[:4]] == ["innermost", "middle", "outermost", "do_deep"]


def test_a_program_of_the_system() -> None:
    """The one-liner that everybody tries first, without a terminal: a function of bash."""
    seen = during(
        r"uprobe:/bin/bash:main { @[comm] = count(); } uretprobe:/bin/bash:execute_command { @r[retval] = count(); }",
        "/bin/bash -c 'true; false; true'",
    )
    assert seen.maps["@"] == {"bash": 1}
    assert subprocess.run(["/bin/bash", "-c", "true; false; true"], check=False).returncode == 0
    assert sum(seen.maps["@r"].values()) >= 1
