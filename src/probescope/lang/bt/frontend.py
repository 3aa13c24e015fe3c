"""The syntax half of the language as one step: text -> the tree that is checked and lowered.

    parse -> imports -> macros -> parameters -> configuration

``read_script`` is what everybody outside of this package calls.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from probescope.diagnostics import Diagnostic, Source
from probescope.errors import ScriptError
from probescope.frozen import dataclass, field, replace
from probescope.lang.bt.ast import CItem, Directive, Item, Program
from probescope.lang.bt.ast import Config as ConfigBlock
from probescope.lang.bt.config import Config, configure
from probescope.lang.bt.node import replace as replace_node
from probescope.lang.bt.params import Option, Params, resolve
from probescope.lang.bt.parser import ParseOptions, parse


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it is to be checked: macros and parameters are put in, the configuration is known. ``program`` has no
    ``Macro``, ``Import``, ``Positional`` left. ``warnings`` are for the user, ``options`` for the script's own help."""

    source: Source
    program: Program
    config: Config
    options: tuple[Option, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """``environment`` is where ``BPFTRACE_*`` variables are looked up; by default that of this process."""

    parse: ParseOptions = field(default_factory=ParseOptions)
    params: Params = field(default_factory=Params)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


def read_script(source: Source, options: ScriptOptions | None = None) -> Script:
    """Raises ``ScriptError`` for what is wrong in the script, ``UsageError`` for parameters and the environment."""
    options = options or ScriptOptions()
    how = replace(options.parse, params=options.params.positional)
    program = parse(source, how)
    if program.imports:
        from probescope.lang.bt.imports import resolve as resolve_imports

        program = resolve_imports(program, source, how)
    if program.macros:
        from probescope.lang.bt.macros import expand

        program = expand(program, source)
    known: list[Option] = []
    warnings: list[Diagnostic] = []
    if program.imports or options.params.named or may_have_params(source.text):
        program, known, warnings = resolve(program, options.params, source)
    _one_config(program, source)
    entries = [e for c in program.configs for e in c.entries]
    config, more = configure(entries, options.environment, source)
    return Script(source, program, config, tuple(known), (*warnings, *more))


def bundled(source: Source, options: ScriptOptions) -> str:
    """The text of a script that stands alone: what it imports is in it. Raises ``ScriptError``."""
    if "import" not in source.text:
        return source.text
    program = parse(source, options.parse)
    if not program.imports:
        return source.text
    from probescope.lang.bt.imports import resolve as resolve_imports
    from probescope.lang.bt.printer import program_text

    whole = resolve_imports(program, source, options.parse)
    return program_text(replace_node(whole, items=tuple(sorted(whole.items, key=_place))))


def _place(item: Item) -> int:
    """C comes before the configuration, and that before all else."""
    return 0 if isinstance(item, CItem | Directive) else 1 if isinstance(item, ConfigBlock) else 2


def may_have_params(text: str) -> bool:
    """Whether a script reads parameters of the command line, as far as its text tells; what it imports may too."""
    return "getopt" in text or re.search(r"\$[0-9#]", text) is not None


def _one_config(program: Program, source: Source) -> None:
    more: Sequence[Diagnostic] = [
        Diagnostic("error", "duplicate config block", c.span, (), source) for c in program.configs[1:]
    ]
    if more:
        raise ScriptError(more)
