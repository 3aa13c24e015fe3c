"""The checks of the house must themselves be able to fail, or they protect nothing."""

from __future__ import annotations

import ast

import pytest

from checks import rooms, sizes


def findings(tmp_path, monkeypatch, name: str, text: str) -> list[str]:
    monkeypatch.setattr(rooms, "SRC", tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return list(rooms.findings(path))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("bpf/x.py", "import ctypes\n", "only kernel/ may import ctypes"),
        ("kernel/x.py", "import ctypes\n", None),
        ("views/x.py", "def f():\n    print(1)\n", "only cli/ prints"),
        ("cli/x.py", "print(1)\n", None),
        ("sources/x.py", "open('/proc/kallsyms')\n", "only kernel/ opens /proc/kallsyms"),
        ("sources/x.py", "open(f'/sys/{1}/id')\n", "only kernel/ opens /sys/"),
        ("sources/x.py", "host().stat('/sys/x')\n", None),
        ("debuginfo/x.py", "open(path, 'rb')\n", None),
        ("model/x.py", "import numpy as np\n", "numpy is imported at import time"),
        ("model/x.py", "def f():\n    import numpy as np\n", None),
        ("model/x.py", "if TYPE_CHECKING:\n    import numpy as np\n", None),
        ("lang/x.py", "P = r'(?:a|b)*+c'\n", "a possessive group"),
        ("lang/x.py", "P = r'a*+b++c'\n", None),
        ("plan/__init__.py", "x = 1\n", "a package says in its docstring"),
    ],
)
def test_rooms_finds_what_it_names(tmp_path, monkeypatch, name, text, expected):
    """Protects the law of the one room that touches Linux, of printing, and of cheap imports."""
    found = findings(tmp_path, monkeypatch, name, text)
    assert (expected is None and not found) or any(expected in line for line in found), found


def test_size_of_a_function_leaves_out_its_docstring():
    """A long docstring must never be a reason to cut it."""
    text = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n'
    assert [s.lines for s in sizes.function_sizes(ast.parse(text), "x.py")] == [3]


def test_sizes_names_the_function_that_is_too_long():
    limit = sizes.Limit(file=10, function=2, function_p90=100)
    found = list(sizes.findings(limit, [sizes.Size(11, "a.py")], [sizes.Size(3, "a.py:1 f")]))
    assert len(found) == 2
    assert "a.py: a file of 11 lines" in found[0]
    assert "a.py:1 f: a function of 3 lines" in found[1]
