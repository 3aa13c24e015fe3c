"""What cannot be probed is told with its reason and with what can be had instead, by every command alike."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.cli.main import main
from tests.support.probe_program import build

INLINED = "it was inlined wherever it is called"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build(tmp_path_factory.mktemp("probe_told"))


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) in (1, 2)
    found = capsys.readouterr()
    assert "bug in probescope" not in found.err
    assert found.out == ""
    return found.err


@pytest.mark.parametrize(
    "words",
    [
        ["probe", "-D", "helper k", "--no-inlines"],
        ["probe", "-D", "helper%return $retval"],
        ["span", "helper"],
        ["args", "helper"],
        ["peel", "helper"],
        ["graph", "helper"],
    ],
    ids=lambda w: w[0] + w[-1][-7:],
)
def test_inlined_everywhere(programs: dict[str, str], capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    err = told(capsys, *words, "-x", programs["fast"])
    assert INLINED in err
    assert "has a probe at each copy" in err


def test_too_many_copies(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Protects from looking at all the thousands of copies of what a kernel's header defines."""
    err = told(capsys, "probe", "-x", programs["fast"], "-V", "helper", "--max-probes", "1")
    assert "stands for more than 1 places: it is inlined in many" in err


def strayed(fast: str, folder: Path) -> Path:
    """A stripped copy that names a debug file."""
    program, debug = folder / "program", folder / "program.debug"
    shutil.copy(fast, program)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True, timeout=300)
    subprocess.run(["strip", program], check=True, timeout=300)
    subprocess.run(["objcopy", "--add-gnu-debuglink=program.debug", "program"], check=True, timeout=300, cwd=folder)
    return program


def test_debug_file_of_another_build(
    programs: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The build-id of the debug file that a program names is another one; then the file is not there at all."""
    if shutil.which("objcopy") is None:
        pytest.skip("needs binutils")
    from probescope.debuginfo.elf import ElfFile

    program = strayed(programs["fast"], tmp_path)
    debug = tmp_path / "program.debug"
    build_id = bytes.fromhex(ElfFile.open(str(program)).build_id())
    if not build_id:
        pytest.skip("this compiler's linker writes no build-ids")
    assert main(["probe", "-x", str(program), "-D", "work n"]) == 0
    capsys.readouterr()
    debug.write_bytes(debug.read_bytes().replace(build_id, bytes(len(build_id))))
    err = told(capsys, "probe", "-x", str(program), "-V", "main")
    assert f"{debug} is of another build (build-id 000000000000..., not {build_id.hex()[:12]}...)" in err
    assert f"({debug} is of another build" in told(capsys, "span", "work", "-x", str(program))
    debug.unlink()
    assert "it names program.debug, which is not found" in told(capsys, "probe", "-x", str(program), "-V", "main")


def test_between_instructions_of_inlined_code(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """An address inside of a copy is checked from the beginning of the function that has the code."""
    from probescope.debuginfo.binary import Binary
    from probescope.sources.boundaries import is_boundary

    binary = Binary(programs["fast"])
    work = binary.function("work")
    assert work is not None
    code = binary.elf.read_vaddr(work.address, work.size)
    inside = [n for n in range(1, work.size) if is_boundary(code, n, binary.elf.machine) is False]
    binary.close()
    for n in inside[::7]:
        err = told(capsys, "probe", "-x", programs["fast"], "-D", f"{work.address + n:#x}")
        assert "no instruction begins at " in err
        assert "HINT: instructions begin at +" in err


def test_programs_that_nobody_wrote(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """What span makes of points is not shown as if a person had written it."""
    err = told(capsys, "span", "work+1", "to", "work%return", "-x", programs["fast"])
    assert err.startswith("ERROR: no instruction begins at ")
    assert "nsecs" not in err
    assert "missing_probes" not in err


def test_a_file_beside(
    programs: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name without a slash is a file that is here, for every command."""
    monkeypatch.chdir(Path(programs["fast"]).parent)
    assert main(["probe", "-x", "fast", "-D", "work"]) == 0
    assert main(["peel", "work", "-x", "fast", "--steps", "callers", "--", "true"]) == 0
    assert main(["span", "work", "-x", "fast", "--show-program"]) == 0
    assert "uprobe:./fast:work" in capsys.readouterr().out


def test_the_kernels_functions(capsys: pytest.CaptureFixture[str]) -> None:
    from probescope.sources import kernel_btf

    assert "there is no function vfs_raed in the kernel" in told(capsys, "args", "vfs_raed")
    assert "did you mean vfs_read?" in told(capsys, "probe", "-V", "vfs_raed")
    known = kernel_btf.functions()
    if known is None or known.find("entry_SYSCALL_64_after_hwframe") is not None:
        pytest.skip("needs BTF without functions of assembler")
    assert "BTF lacks assembler" in told(capsys, "args", "entry_SYSCALL_64_after_hwframe")


@pytest.mark.parametrize("how", [("-D", "foo"), ("-V", "foo"), ("-L", "foo"), ("-D", "foo*"), ("-F",), ("foo",)])
def test_a_module_that_is_not_there(how: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """It is the module that is missing, not a function of the kernel."""
    assert "no module nosuch with functions is loaded" in told(capsys, "probe", "-m", "nosuch", *how)


def test_addresses_that_no_return_can_be_of(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A return probe in the middle of a function would destroy a word of the program's stack."""
    out = subprocess.run(["nm", programs["plain"]], check=True, capture_output=True, text=True).stdout
    [main_] = [int(line.split()[0], 16) for line in out.splitlines() if line.endswith(" T main")]
    err = told(capsys, "probe", "-x", programs["plain"], "-D", f"{main_ + 4:#x}%return")
    assert "is inside of a function" in err
    assert main(["probe", "-x", programs["plain"], "-D", f"{main_:#x}%return"]) == 0
    assert f"abs_{main_:x}__return" in capsys.readouterr().out
    assert "only +OFFSET or %return" in told(capsys, "probe", "-x", programs["plain"], "-D", f"{main_:#x}:3")


def test_words_beside_options(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Protects from probing what was only to be printed: words beside -D are printed too, others are refused."""
    assert main(["probe", "-x", programs["fast"], "-D", "main", "second=main"]) == 0
    assert [line.split()[0].partition("/")[2] for line in capsys.readouterr().out.splitlines()] == ["main", "second"]
    assert "would be probed beside" in told(capsys, "probe", "-x", programs["fast"], "main", "-V", "main")
