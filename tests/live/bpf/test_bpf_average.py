"""The two numbers behind an average, read inside the kernel, and what printf makes of them."""

import pytest
from bpf_object import FEATURES, load, program
from collect_run import run

from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.program import MapDecl
from probescope.ir.rules import check
from probescope.model.types import I64, U32, U64, Agg


@pytest.mark.parametrize("kind", ["avg", "stats"])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("keyed", [False, True])
def test_total_and_count(kind, features, keyed):
    """What was observed adds up; a key that is not there has neither."""
    key, other = (x.Const(U32, 7), x.Const(U32, 8)) if keyed else (None, None)
    body = [s.MapUpdate("a", key, x.Arg(I64, 0))]
    body += [
        s.MapSet(name, None, x.MapPart(t, "a", key, i)) for i, (name, t) in enumerate((("total", I64), ("n", U64)))
    ]
    body += [s.MapSet("none", None, x.MapPart(U64, "a", other, 1))]
    maps = (
        MapDecl("a", U32 if keyed else None, Agg(kind, I64)),
        *(MapDecl(n, None, t) for n, t in (("total", I64), ("n", U64), ("none", U64))),
    )
    made = program(body, maps=maps)
    check(made)
    with load(made, FEATURES[features]) as loaded:
        for value in (5, -20, 1 << 40):
            loaded.run(value)
        assert loaded.map("total")[None] == (1 << 40) - 15
        assert loaded.map("n")[None] == 3
        assert loaded.map("none")[None] == (0 if keyed else 3)


@pytest.mark.parametrize("via", ["auto", "bpf"])
def test_printf_of_averages(via):
    """By hand: (1 + 2) / 2, (-10 + 3 + 3) / 3, 200 / 3. Integers stay the default."""
    text = """BEGIN {
        @a = avg(1); @a = avg(2);
        @k[1, "x"] = avg(-10); @k[1, "x"] = avg(3); @k[1, "x"] = avg(3);
        @s[4] = stats(10); @s[4] = stats(5);
        printf("%f %.2f %6.1f|%e %d\\n", @a, @k[1, "x"], @s[4], @a, @a);
        printf("%.1f%% %g %f\\n", (100 * 2, 3), 7, @k[5, "y"]);
        clear(@a); clear(@k); clear(@s);
    }"""
    done = run(text, "--via", via)
    assert done.lines[:2] == ["1.500000 -1.33    7.5|1.500000e+00 1", "66.7% 7 0.000000"]


@pytest.mark.parametrize("value", ["comm", "(1, 2, 3)", '("a", 1)', "@h"])
def test_what_has_no_fraction(value):
    done = run(f'BEGIN {{ @h = hist(1); printf("%f", {value}); }}')
    assert done.code == 1
    assert "ERROR: printf():" in done.err
