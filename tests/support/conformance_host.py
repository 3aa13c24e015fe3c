"""A host like the one that bpftrace's unit tests imitate: its functions, tracepoints and types, read from a checkout.

``tests/mocks.cpp`` names functions and tracepoints; ``tests/data/data_source.c`` has the types and signatures, which a
compiler turns into BTF.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_funcs import BtfFunctions
from probescope.debuginfo.btf_types import BtfTypes
from probescope.debuginfo.elf import ElfFile
from probescope.errors import ProbeError
from probescope.lang.bt.compiler import Environment, UserSymbol
from probescope.lang.bt.files import Disk
from probescope.lang.bt.frontend import ScriptOptions
from probescope.lang.bt.params import Params
from probescope.lang.bt.parser import ParseOptions
from probescope.model.probe import ProbeSpec
from probescope.model.site import (
    CtxLoad,
    FentryAttach,
    Field,
    IterAttach,
    KprobeAttach,
    RawTracepointAttach,
    RegArg,
    RegRet,
    Site,
    TracepointAttach,
    UprobeAttach,
)
from probescope.model.types import CHAR, I32, U64, Pointer, TypeTable
from probescope.sources import func_fields, registry
from probescope.sources.context import ResolveContext
from probescope.sources.globs import is_glob, matches

_LISTED = re.compile(r'emplace\(\s*"(\w+)",.*?\(\{(.*?)\}\)\)\);', re.DOTALL)
_FILES = ("sh", "bash", "/bin/sh", "/bin/bash", "./a")


def compiler() -> str | None:
    return shutil.which("gcc")


class Mocks:
    """``root``: a checkout; ``folder``: where a compiled file may be put."""

    def __init__(self, root: str, folder: Path) -> None:
        self._text = Path(f"{root}/tests/mocks.cpp").read_text()
        self._source = f"{root}/tests/data/data_source.c"
        self._folder = folder

    def _names(self, function: str) -> dict[str, set[str]]:
        """Category or module -> names, of one function of the file."""
        at = self._text.index(f" {function}()")
        body = self._text[at : self._text.index("return result;", at)]
        return {m[1]: set(re.findall(r'"(\w+)"', m[2])) for m in _LISTED.finditer(body)}

    @cached_property
    def functions(self) -> dict[str, set[str]]:
        return self._names("make_mock_functions")

    @cached_property
    def tracepoints(self) -> dict[str, set[str]]:
        return self._names("make_mock_tracepoints")

    @cached_property
    def raw_tracepoints(self) -> dict[str, set[str]]:
        return self._names("make_mock_raw_tracepoints")

    @cached_property
    def btf(self) -> BtfFunctions:
        out = self._folder / "types.o"
        gcc = compiler()
        assert gcc is not None
        subprocess.run([gcc, "-w", "-gbtf", "-O0", "-c", "-o", str(out), self._source], check=True)
        with ElfFile.open(str(out)) as elf:
            section = elf.section(".BTF")
            assert section is not None
            return BtfFunctions(BtfTypes(Btf.parse(bytes(elf.section_data(section)))))


def _sites_of(spec: ProbeSpec, known: dict[str, set[str]]) -> list[str]:
    """The names that a pattern stands for, or the name as it is."""
    if not is_glob(spec.target + spec.name):
        return [spec.name]
    inside = [(m, n) for m, names in known.items() for n in names if matches(spec.target or "*", m)]
    found = sorted({n for _, n in inside if matches(spec.name, n)})
    if not found:
        raise ProbeError(f"nothing matches {spec}")
    return found


class Resolver:
    """Names that are no patterns exist, as in the suite; its files of programs do too, others do not. Sources that look
    at no name of the kernel or of a file are the real ones."""

    def __init__(self, mocks: Mocks, unsafe: bool) -> None:
        self.mocks = mocks
        self._context = ResolveContext(unsafe=unsafe, types=mocks.btf.types)

    def __call__(self, spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
        make = getattr(self, f"_{spec.source}", None)
        real = make is None or (spec.source.endswith("probe") and spec.address is not None and not spec.target)
        found: Sequence[Site] = registry.resolve(spec, self._context) if real else make(spec)
        return found

    def _iter(self, spec: ProbeSpec) -> Sequence[Site]:
        if self.mocks.btf.find(f"bpf_iter_{spec.name}") is None:
            raise ProbeError(f"there is no iterator {spec.name}")
        return [Site(str(spec), "iter", IterAttach(spec.name))]

    def _kprobe(self, spec: ProbeSpec) -> Sequence[Site]:
        ret = spec.source == "kretprobe"
        names = _sites_of(spec, self.mocks.functions)
        place = Field("retval", U64, RegRet()) if ret else None
        return [Site(f"{spec.source}:{n}", spec.source, KprobeAttach(n, ret=ret), ret=place, func=n) for n in names]

    _kretprobe = _kprobe

    def _uprobe(self, spec: ProbeSpec) -> Sequence[Site]:
        if "notexist" in spec.target:
            raise ProbeError(f"there is no file {spec.target}")
        ret = spec.source == "uretprobe"
        place = Field("retval", U64, RegRet()) if ret else None
        attach = UprobeAttach(spec.target, 0, ret=ret)
        return [Site(str(spec), spec.source, attach, ret=place, func=spec.name)]

    _uretprobe = _uprobe

    def _usdt(self, spec: ProbeSpec) -> Sequence[Site]:
        if "notexist" in spec.target:
            raise ProbeError(f"there is no file {spec.target}")
        args = tuple(Field(f"arg{i}", U64, RegArg(i)) for i in range(6))
        return [Site(str(spec), "usdt", UprobeAttach(spec.target, 0), args=args, func=spec.name)]

    def _fentry(self, spec: ProbeSpec) -> Sequence[Site]:
        names = _sites_of(spec, self.mocks.functions)
        return [self._traced(spec, n) for n in names]

    _fexit = _fentry

    def _traced(self, spec: ProbeSpec, name: str) -> Site:
        fn = self.mocks.btf.find(name)
        ret = spec.source == "fexit"
        if fn is None:
            return Site(f"{spec.source}:{name}", spec.source, FentryAttach(name, 1, ret=ret), func=name)
        fields, result = func_fields.slots(fn, self.mocks.btf.types)
        attach = FentryAttach(name, fn.btf_id, ret=ret)
        place = result if ret else None
        return Site(f"{spec.source}:vmlinux:{name}", spec.source, attach, fields, fields, place, func=name)

    def _rawtracepoint(self, spec: ProbeSpec) -> Sequence[Site]:
        return [self._raw(spec, n) for n in _sites_of(spec, self.mocks.raw_tracepoints)]

    def _raw(self, spec: ProbeSpec, name: str) -> Site:
        fn = self.mocks.btf.find(f"__probestub_{name}")
        fields = func_fields.slots(fn, self.mocks.btf.types)[0][1:] if fn else ()
        return Site(f"rawtracepoint:{name}", "rawtracepoint", RawTracepointAttach(name), fields, fields, func=name)

    def _tracepoint(self, spec: ProbeSpec) -> Sequence[Site]:
        fields = (
            Field("common_field", U64, CtxLoad(8, 8)),
            Field("filename", Pointer(CHAR, "user"), CtxLoad(16, 8)),
            Field("some_field", I32, CtxLoad(24, 4)),
        )
        out = []
        for name in _sites_of(spec, self.mocks.tracepoints):
            attach = TracepointAttach(spec.target, name, 1)
            out.append(Site(f"tracepoint:{spec.target}:{name}", "tracepoint", attach, fields, func=name))
        return out


def _user_symbol(path: str, name: str) -> UserSymbol | None:
    """A name ``12345_SIZE`` says how large it is; any other is 4 bytes (tests/mocks.h)."""
    if name[:1].isdigit():
        address, _, size = name.partition("_")
        return UserSymbol(int(address), int(size))
    return UserSymbol(12345, 4)


class _NoTypes:
    """A kernel without BTF."""

    def layout(self, name: str) -> None:
        return None

    named = enumerator = layout

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return ()

    def names(self) -> list[str]:
        return []


def environment(
    mocks: Mocks,
    *,
    params: tuple[str, ...] = (),
    unsafe: bool = False,
    mode: str = "test",
    types: TypeTable | None = None,
) -> Environment:
    """What one program is compiled against."""
    parse = ParseOptions(files=Disk(), system_dirs=("/usr/include/x86_64-linux-gnu", "/usr/include"))
    return Environment(
        Resolver(mocks, unsafe),
        mocks.btf.types if types is None else types,
        kaddr=lambda name: None if name == "nonsense" else 0xFFFF0000,
        uaddr=_user_symbol,
        cgroupid=lambda _: 1,
        kfunc=lambda name, _: mocks.btf.find(name) is not None,
        unsafe=unsafe,
        ncpus=4,
        mode=mode,
        script=ScriptOptions(parse, Params(params), {}),
    )
