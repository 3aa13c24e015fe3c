"""Functions of BPF programs as places for fentry: names, ids, results."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probescope.bpf.btf_writer import BtfWriter
from probescope.errors import NoSuchProbe, ProbeError
from probescope.kernel import bpf_functions
from probescope.model.probe import ProbeSpec
from probescope.model.site import FentryAttach, Field, RetSlot
from probescope.model.types import I32
from probescope.plan.bpf import plan_bpf
from probescope.plan.request import PlanRequest
from probescope.sources import registry
from probescope.sources.context import ResolveContext


def blob(*names: str) -> tuple[bytes, tuple[int, ...]]:
    w = BtfWriter()
    proto = w.prototype(w.integer("int", 4, signed=True), [("ctx", w.pointer())])
    ids = tuple(w.function(n, proto, "global") for n in names)
    return w.data(), ids


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """7 and 9 have a function of one name; 8 has broken BTF; 9 claims one that is none."""
    first, ids = blob("probe_a_1", "probe_a_1.loop")
    second, others = blob("probe_a_1", "other")
    blobs = {1: first, 2: b"\x9f\xebrubbish", 3: second}
    known = (
        bpf_functions.Functions(7, 1, ids),
        bpf_functions.Functions(8, 2, (1,)),
        bpf_functions.Functions(9, 3, (*others, 1, 4711)),
    )

    def loaded(only: int = 0) -> Iterator[bpf_functions.Functions]:
        return (f for f in known if only in (0, f.program))

    monkeypatch.setattr(bpf_functions, "loaded", loaded)
    monkeypatch.setattr(bpf_functions, "btf_bytes", blobs.__getitem__)


def resolve(name: str, source: str = "fentry", program: str = ""):
    return registry.resolve(ProbeSpec(source, "bpf", name, namespace=program), ResolveContext())


def test_every_program_with_the_name() -> None:
    sites = resolve("probe_a_1")
    assert [s.name for s in sites] == ["fentry:bpf:7:probe_a_1", "fentry:bpf:9:probe_a_1"]
    assert [s.attach.program for s in sites if isinstance(s.attach, FentryAttach)] == [7, 9]
    assert sites[0].ret is None


def test_globs_ids_and_lists() -> None:
    assert [s.name for s in resolve("*", program="9")] == ["fentry:bpf:9:probe_a_1", "fentry:bpf:9:other"]
    assert [s.name for s in resolve("*loop")] == ["fentry:bpf:7:probe_a_1.loop"]
    assert list(registry.list_probes("fexit:bpf:o*", ResolveContext())) == ["fexit:bpf:9:other"]
    assert list(registry.list_probes("fentry:bpf:7:*", ResolveContext())) == [
        "fentry:bpf:7:probe_a_1",
        "fentry:bpf:7:probe_a_1.loop",
    ]


def test_the_result_is_asked_for() -> None:
    """How many arguments the kernel counts depends on whether it believes the program's BTF."""
    (site,) = resolve("other", "fexit")
    assert site.ret == Field("retval", I32, RetSlot(-1))


def test_nothing_of_the_name() -> None:
    with pytest.raises(NoSuchProbe, match="no loaded BPF program has a function nobody"):
        resolve("nobody")
    with pytest.raises(ProbeError, match="no loaded BPF program") as e:
        resolve("nobody*")
    assert not isinstance(e.value, NoSuchProbe)


def test_each_program_gets_one_of_its_own() -> None:
    """A trampoline program is loaded for one function of one program, whatever else has that name."""
    from probescope.ir.program import Clause, MapDecl, Program
    from probescope.ir.stmt import MapUpdate
    from probescope.model.plan import Load
    from probescope.model.types import Agg

    class Offers:
        def state(self, name: str) -> str:
            return "yes"

    clause = Clause(0, tuple(resolve("probe_a_1")), (MapUpdate("", None),))
    made = plan_bpf(Program((clause,), (MapDecl("", None, Agg("count")),)), PlanRequest(Offers()))  # type: ignore[arg-type]
    loads = [s for s in made.plan.steps if isinstance(s, Load)]
    assert [(s.of_program, s.btf_target) for s in loads] == [(7, "probe_a_1"), (9, "probe_a_1")]
