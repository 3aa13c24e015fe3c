"""Kernel functions on a host out of a dictionary: kprobes and fentry, their places, arguments, reasons and hints."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sources_kernel
from sources_kernel import BIG, FILE, PAIR, TRACING, Types

from probescope.debuginfo.btf_funcs import Function, Param
from probescope.errors import KernelError, NoSuchProbe, ProbeError, UsageError
from probescope.kernel.fake import FakeHost
from probescope.model.arch import AARCH64
from probescope.model.probe import ProbeSpec
from probescope.model.site import CtxArg, CtxBytes, FentryAttach, Field, KprobeAttach, RegArg, RegRet, RetSlot, Site
from probescope.model.types import I32, I64, U64, Struct
from probescope.sources import func_fields, kernel_functions, registry
from probescope.sources.context import ResolveContext


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHost]:
    yield from sources_kernel.machine(monkeypatch)


def resolve(spec: ProbeSpec, **ctx: object) -> list[Site]:
    return registry.resolve(spec, ResolveContext(**ctx))  # type: ignore[arg-type]


def listed(pattern: str) -> list[str]:
    return list(registry.list_probes(pattern, ResolveContext()))


# --- where arguments are
# ------------------------------------------------------------------------------------------------


def test_arguments_in_registers_and_slots() -> None:
    """Protects argument numbers behind structs that are passed by value: two words for 16 bytes, none for more on
    x86-64."""
    params = (
        Param("a", I32),
        Param("p", PAIR),
        Param("one", Struct("struct one")),
        Param("big", BIG),
        Param("z", FILE),
    )
    fn = Function("f", 1, params, I32)
    types: object = Types()
    x86 = func_fields.registers(fn, types, ResolveContext())  # type: ignore[arg-type]
    assert x86 == (Field("a", I32, RegArg(0)), Field("z", FILE, RegArg(4)))
    arm = func_fields.registers(fn, types, ResolveContext(arch=AARCH64))  # type: ignore[arg-type]
    assert arm[-1] == Field("z", FILE, RegArg(5))  # the address of the big one takes a register there
    slots, ret = func_fields.slots(Function("g", 1, (*params[:3], params[4]), I32), types)  # type: ignore[arg-type]
    assert slots == (
        Field("a", I32, CtxArg(0)),
        Field("p", PAIR, CtxBytes(8, 16)),
        Field("one", Struct("struct one"), CtxBytes(24, 4)),
        Field("z", FILE, CtxArg(4)),
    )
    assert ret == Field("retval", I32, RetSlot(5))


# --- kprobes
# ------------------------------------------------------------------------------------------------------------


def test_kprobe_with_btf(machine: FakeHost) -> None:
    """Protects the everyday kprobe: named arguments, and nothing large is read for it."""
    (site,) = resolve(ProbeSpec("kprobe", name="vfs_read"))
    assert site == Site(
        "kprobe:vfs_read",
        "kprobe",
        KprobeAttach("vfs_read"),
        (Field("file", FILE, RegArg(0)), Field("count", U64, RegArg(1))),
        func="vfs_read",
    )
    assert "kallsyms_text" not in machine.cache
    assert "traceable_functions" not in machine.cache


def test_kretprobe(machine: FakeHost) -> None:
    """Protects the type of the result."""
    (site,) = resolve(ProbeSpec("kretprobe", name="vfs_read"))
    assert (site.attach, site.fields, site.ret) == (
        KprobeAttach("vfs_read", ret=True),
        (),
        Field("retval", I64, RegRet()),
    )
    (unknown,) = resolve(ProbeSpec("kretprobe", name="no_btf"))
    assert unknown.ret == Field("retval", U64, RegRet())
    with pytest.raises(ProbeError, match="takes no offset"):
        resolve(ProbeSpec("kretprobe", name="vfs_read", offset=4))


def test_kprobe_places(machine: FakeHost) -> None:
    """Protects offsets, modules, addresses."""
    (inside,) = resolve(ProbeSpec("kprobe", name="vfs_read", offset=12))
    assert (inside.name, inside.attach, inside.fields) == ("kprobe:vfs_read+12", KprobeAttach("vfs_read", 12), ())
    (module,) = resolve(ProbeSpec("kprobe", "ext4", "ext4_sync"))
    assert (module.name, module.attach) == ("kprobe:ext4:ext4_sync", KprobeAttach("ext4_sync", module="ext4"))
    assert [f.name for f in module.fields] == ["inode"]
    (found,) = resolve(ProbeSpec("kprobe", name="ext4_sync"))
    assert found.attach == KprobeAttach("ext4_sync", module="ext4")
    (vmlinux,) = resolve(ProbeSpec("kprobe", "vmlinux", "vfs_read"))
    assert (vmlinux.name, vmlinux.attach) == ("kprobe:vmlinux:vfs_read", KprobeAttach("vfs_read"))
    with pytest.raises(ProbeError, match="unsafe"):
        resolve(ProbeSpec("kprobe", address=0xFFFFFFFF81000104))
    (bare,) = resolve(ProbeSpec("kprobe", address=0xFFFFFFFF81000104), unsafe=True)
    assert bare.attach == KprobeAttach("", address=0xFFFFFFFF81000104)
    assert (bare.name, bare.func) == ("kprobe:18446744071578845444", "vfs_read+0x4")


def test_kprobe_globs(machine: FakeHost) -> None:
    """Protects globs: what ftrace can take, without split parts, without forbidden ones, by module if asked."""
    sites = resolve(ProbeSpec("kprobe", name="vfs_*"))
    assert [s.name for s in sites] == ["kprobe:vfs_read"]
    assert sites[0].attach == KprobeAttach("vfs_read", traceable=True)
    assert listed("kprobe:*") == ["kprobe:ext4_sync", "kprobe:no_btf", "kprobe:vfs_open", "kprobe:vfs_read"]
    assert listed("kprobe:ext4:*") == ["kprobe:ext4:ext4_sync"]
    assert listed("kprobe:*:vfs*") == ["kprobe:vmlinux:vfs_open", "kprobe:vmlinux:vfs_read"]
    assert [s.name for s in resolve(ProbeSpec("kprobe", "ext*", "*"))] == ["kprobe:ext4:ext4_sync"]


def test_a_pattern_of_modules_may_mean_the_kernel_itself(machine: FakeHost) -> None:
    """``vmlinux`` is as good a name for a glob as that of any module."""
    assert [s.name for s in resolve(ProbeSpec("kprobe", "vmlinu*", "vfs_read"))] == ["kprobe:vmlinux:vfs_read"]
    assert [s.name for s in resolve(ProbeSpec("kprobe", "?xt4", "ext4_*"))] == ["kprobe:ext4:ext4_sync"]
    assert listed("fentry:[a-v]mlinux:vfs_read") == ["fentry:vmlinux:vfs_read"]
    assert [s.name for s in resolve(ProbeSpec("fentry", "vmlinu*", "vfs_read"))] == ["fentry:vmlinux:vfs_read"]


def test_no_pattern_means_what_halts_the_kernel(machine: FakeHost) -> None:
    """Programs in many functions of RCU, which programs themselves need, have hung machines."""
    machine.files[f"{TRACING}/available_filter_functions"] += b"rcu_core\nrcutree_up\ndefault_idle\ndefault_idle_call\n"
    assert listed("kprobe:*") == [
        *("kprobe:default_idle_call", "kprobe:ext4_sync", "kprobe:no_btf"),
        *("kprobe:rcutree_up", "kprobe:vfs_open", "kprobe:vfs_read"),
    ]
    with pytest.raises(ProbeError, match="no kernel function matches 'rcu_\\*'"):
        resolve(ProbeSpec("kprobe", name="rcu_*"))


def test_a_module_that_is_not_loaded(machine: FakeHost) -> None:
    machine.files["/proc/modules"] = b"ext4 991232 1 - Live 0x0000000000000000\n"
    assert resolve(ProbeSpec("kprobe", "ext4", "ext4_sync"))
    words = r"specified module nonsense in probe kprobe:nonsense:vfs_read is not loaded\."
    with pytest.raises(ProbeError, match=words) as e:
        resolve(ProbeSpec("kprobe", "nonsense", "vfs_read"))
    assert e.value.hints == ("write kprobe:vfs_read, or load the module",)


def test_unsafe_tries_what_is_not_known(machine: FakeHost) -> None:
    """The kernel has the last word, and a warning comes before it."""
    with pytest.raises(NoSuchProbe) as e:
        resolve(ProbeSpec("kprobe", "vmlinux", "vfs_raed"))
    assert e.value.doubt.startswith("vfs_raed is not traceable")
    (site,) = resolve(ProbeSpec("kprobe", "vmlinux", "vfs_raed"), tries=True)
    assert (site.name, site.attach) == ("kprobe:vmlinux:vfs_raed", KprobeAttach("vfs_raed"))
    assert site.doubt == e.value.doubt
    assert "did you mean kprobe:vfs_read?" in site.notes


def test_a_list_of_what_may_be_probed(machine: FakeHost) -> None:
    """``--traceable-functions``: only what the file has, by name and by pattern."""
    machine.files["/mine"] = b"vfs_read\n"
    kernel_functions.choose_list("/mine")
    assert [s.name for s in resolve(ProbeSpec("kprobe", name="*"))] == ["kprobe:vfs_read"]
    assert resolve(ProbeSpec("kprobe", name="vfs_read"))[0].doubt == ""
    with pytest.raises(NoSuchProbe, match="not on the list"):
        resolve(ProbeSpec("kprobe", name="no_btf"))
    assert "not traceable" in resolve(ProbeSpec("kprobe", name="no_btf"), tries=True)[0].doubt
    kernel_functions.choose_list("")
    assert resolve(ProbeSpec("kprobe", name="no_btf"))[0].doubt == ""
    kernel_functions.choose_list("/nothing")
    with pytest.raises(UsageError, match="Could not read functions from /nothing"):
        resolve(ProbeSpec("kprobe", name="vfs_read"))


def test_kprobe_without_the_function_tracer(machine: FakeHost) -> None:
    """Protects kernels that have kprobes but no function tracer: names come from kallsyms, and are not traceable."""
    del machine.files[f"{TRACING}/available_filter_functions"]
    (site, *_) = resolve(ProbeSpec("kprobe", name="vfs_r*"))
    assert site.attach == KprobeAttach("vfs_read")
    assert "kprobe:bpf_prog_123" not in listed("kprobe:*")
    assert "kprobe:vfs_data" not in listed("kprobe:*")


def test_reasons_against_a_kprobe(machine: FakeHost) -> None:
    """Protects the reasons that `explain` shows."""
    (site,) = resolve(ProbeSpec("kprobe", name="vfs_open"))
    assert "forbids kprobes on vfs_open" in site.reason
    del machine.files[f"{TRACING}/kprobe_events"]
    (site,) = resolve(ProbeSpec("kprobe", name="vfs_read"))
    assert "no kprobes" in site.reason
    assert listed("kprobe:*") == []


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        (ProbeSpec("kprobe", name="vfs_raed"), "no kernel function vfs_raed", "did you mean kprobe:vfs_read?"),
        (ProbeSpec("kprobe", name="split_up"), "no kernel function split_up", "changed it into split_up.isra.0"),
        (ProbeSpec("kprobe", "ext4", "vfs_read"), "'ext4' has no function vfs_read", "write kprobe:vfs_read"),
        (ProbeSpec("kprobe", name="zz*"), "no kernel function matches 'zz*'", "probescope list"),
        (ProbeSpec("kprobe", name="vfs_data"), "no kernel function vfs_data", ""),
        (ProbeSpec("kprobe"), "kprobe needs a function", "kprobe:vfs_read"),
    ],
)
def test_unknown_kernel_functions(machine: FakeHost, spec: ProbeSpec, message: str, hint: str) -> None:
    """Protects the messages about names that are not there."""
    with pytest.raises(ProbeError) as e:
        resolve(spec)
    assert message in str(e.value)
    assert hint in e.value.hints[0]


# --- fentry
# -------------------------------------------------------------------------------------------------------------


def test_fentry_and_fexit(machine: FakeHost) -> None:
    """Protects typed arguments, the module in the name, the result behind the arguments."""
    (entry,) = resolve(ProbeSpec("fentry", name="vfs_read"))
    assert (entry.name, entry.attach, entry.ret) == ("fentry:vmlinux:vfs_read", FentryAttach("vfs_read", 11), None)
    assert entry.fields == (Field("file", FILE, CtxArg(0)), Field("count", U64, CtxArg(1)))
    (leave,) = resolve(ProbeSpec("fexit", "", "vfs_read"))
    assert (leave.fields, leave.ret) == (entry.fields, Field("retval", I64, RetSlot(2)))
    (module,) = resolve(ProbeSpec("fentry", name="ext4_sync"))
    assert (module.name, module.attach) == ("fentry:ext4:ext4_sync", FentryAttach("ext4_sync", 14, "ext4"))
    (void,) = resolve(ProbeSpec("fexit", name="notrace_me"))
    assert void.ret is None


def test_fentry_globs(machine: FakeHost) -> None:
    """Protects globs: BTF and ftrace must both know a function."""
    assert listed("fentry:*") == ["fentry:ext4:ext4_sync", "fentry:vmlinux:vfs_open", "fentry:vmlinux:vfs_read"]
    assert [s.func for s in resolve(ProbeSpec("fentry", name="vfs_*"))] == ["vfs_open", "vfs_read"]
    (site,) = resolve(ProbeSpec("fentry", name="notrace_me"))  # the list is at hand now
    assert "not in available_filter_functions" in site.reason


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        (ProbeSpec("fentry", name="vfs_raed"), "no function vfs_raed with BTF", "did you mean fentry:vfs_read?"),
        (ProbeSpec("fentry", name="no_btf"), "no function no_btf with BTF", "kprobe:no_btf can probe it"),
        (ProbeSpec("fentry", "xfs", "f"), "no BTF for module 'xfs'", "not loaded"),
    ],
)
def test_unknown_fentry(machine: FakeHost, spec: ProbeSpec, message: str, hint: str) -> None:
    """Protects the messages, and the way out that each shows."""
    with pytest.raises(ProbeError) as e:
        resolve(spec)
    assert message in str(e.value)
    assert hint in e.value.hints[0]


def test_fentry_needs_the_list_of_ftrace_for_globs(machine: FakeHost) -> None:
    """Protects against guessing where the kernel does not let us ask."""
    machine.denied.add(f"{TRACING}/available_filter_functions")
    with pytest.raises(KernelError):
        resolve(ProbeSpec("fentry", name="vfs_*"))
    assert resolve(ProbeSpec("fentry", name="vfs_read"))
