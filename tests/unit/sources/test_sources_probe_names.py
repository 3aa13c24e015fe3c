"""Names of events: different functions have different ones, also on one command."""

from __future__ import annotations

from probescope.lang.probe.parser import parse
from probescope.model.probe_found import FoundProbe, ProbeEvent
from probescope.sources.probe_events import short_path
from probescope.sources.probe_names import named


def name(definition: str, beside: list[ProbeEvent] = []) -> str:  # noqa: B006 - never changed
    d = parse(definition)
    found = FoundProbe("/bin/x", "", 16, False, (), d.place.function)
    return named(d, [found], lambda *_: False, beside=beside)[0].event


def test_operators_have_words() -> None:
    """Signs alone would all be one name."""
    events = [name(f"V::operator{o}") for o in ("*", "[]")]
    assert events == [f"V__operator_{w}" for w in ("star", "index")]
    assert name("my_operator") == "my_operator"
    assert name("V::operator+=(int)") == "V__operator_plus_assign"


def test_addresses_are_called_after_themselves() -> None:
    """perf probe 6.1 says probe_k7ex/abs_1129 also where it knows the function, and abs_1129__return."""

    def of(definition: str) -> str:
        d = parse(definition)
        found = FoundProbe("/bin/x", "", 0x1129, d.place.ret, (), "sum", address=d.place.address or 0, base="main_sum")
        return named(d, [found], lambda *_: False)[0].event

    assert [of("0x1129"), of("0x1129+4"), of("0x1129%return")] == ["abs_1129", "abs_112d", "abs_1129__return"]
    assert of("mine=0x1129") == "mine"


def test_what_is_in_a_function_or_in_no_named_namespace() -> None:
    assert name("f(int)::{lambda(char)#2}::operator()(char) const") == "f__lambda2__operator_call"
    assert name("(anonymous namespace)::f(int)") == "f"


def test_the_same_name_twice_on_one_command_gets_a_number() -> None:
    d = parse("work")
    first = named(d, [FoundProbe("/bin/x", "", 16, False, (), "work")], lambda *_: False)
    assert [first[0].event, name("work", first)] == ["work", "work_1"]


def test_paths_are_as_short_as_perf_has_them() -> None:
    """perf 6.1 says "on tcp_sendmsg@net/ipv4/tcp.c" where debug information has the first of these."""
    assert short_path("debian/build/build_amd64_none_amd64/net/ipv4/tcp.c") == "net/ipv4/tcp.c"
    assert short_path("/root/b/loop.c") == "/root/b/loop.c"
    assert short_path("x" * 40) == "x" * 30
