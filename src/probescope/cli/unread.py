"""Words behind a program that it does not read: whoever wrote a command there wanted -c."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def told(text: str, words: Sequence[str]) -> str:
    """A warning where ``words``, the parameters of the program ``text``, are a command; "" if all is well. A program
    that reads parameters may be given anything, and other words that are not read do no harm."""
    from probescope.errors import UsageError
    from probescope.kernel.child import find_program
    from probescope.lang.bt.frontend import may_have_params

    if not words or "import" in text or may_have_params(text):
        return ""
    try:
        find_program(words[0])
    except UsageError:
        return ""
    line = shlex.join(words)
    return (
        f"WARNING: nothing runs {line}: words behind a program are its parameters, and it has none\n"
        f"HINT: -c {shlex.quote(line)} starts a command, and ends with it\n"
    )
