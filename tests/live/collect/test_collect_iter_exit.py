"""exit() in iterators."""

from __future__ import annotations

import os

from collect_run import run


def test_an_iterator_goes_to_its_end():
    """What is shown after exit() belongs to the answer, as in bpftrace: every task, this process among them."""
    done = run('iter:task { printf("%d\\n", ctx.task.pid); exit(); }')
    assert str(os.getpid()) in done.lines
