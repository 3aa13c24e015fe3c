"""Functions of the kernel by name: which exist, which can be traced, in which module, and which no kprobe may touch.

    available_filter_functions     name              what ftrace, and so fentry and kprobe_multi, can take; one line
    each,
                                   name [module]     60,000 lines and more: searched as one text, never cut into objects

Both texts are remembered with the host: reading them costs the kernel tenths of a second.
"""

from __future__ import annotations

import re
from collections import Counter

from probescope.errors import KernelError, UsageError
from probescope.kernel import tracefs
from probescope.kernel.host import host
from probescope.sources.globs import matches, to_regex

MOST_LISTED = 1 << 20
_FEW = 16  # names up to which looking for each in the text is faster than cutting it to pieces

_HARMFUL = r"rcu_|__ftrace_invalid_address|(?:arch_cpu_idle|default_idle|bpf_dispatcher_xdp_func)(?!\S)"
"""Functions that the kernel lets be traced, and that bring it to a halt where programs run in many of them: no pattern
stands for these, as in the kernel's own tests (tools/testing/selftests/bpf/prog_tests/kprobe_multi_test.c). And what is
no function."""


class TraceableFunctions:
    """The text of available_filter_functions, and questions to it."""

    def __init__(self, text: str) -> None:
        self.text = "\n" + text.rstrip("\n") + "\n"

    def match(self, pattern: str, module: str = "") -> list[tuple[str, str]]:
        """(function, module) in order, without harmful ones; ``module`` is a glob, an empty one means any, ``vmlinux``
        the kernel itself."""
        name = to_regex(pattern, r"\s")
        if module in ("", "*"):
            where = r"(?: \[(?P<module>[^\]\s]+)\])?"
        elif module == "vmlinux":
            where = "(?P<module>)"
        else:
            where = r" \[(?P<module>" + to_regex(module, r"\s\]", "m") + r")\]"
            where = f"(?:{where})?" if matches(module, "vmlinux") else where
        lines = re.finditer(rf"^(?=\S)(?!{_HARMFUL})(?P<name>{name}){where}$", self.text, re.MULTILINE)
        found = (line.group("name", "module") for line in lines)
        return [(n, m or "") for n, m in found]

    def has(self, name: str, module: str = "") -> bool:
        if module and module != "vmlinux":
            return f"\n{name} [{module}]\n" in self.text
        return f"\n{name}\n" in self.text or (not module and f"\n{name} [" in self.text)

    def count(self, name: str) -> int:
        """How many functions are called so."""
        count = at = 0
        while (at := self.text.find(f"\n{name}", at)) >= 0:
            at += 1  # the next line may be one of them
            count += self.text[at + len(name)] in "\n "
        return count


_OF_MODULES = ("traceable_functions", "kernel_function_names", "kallsyms_text", "kprobe_blacklist")


def refresh() -> None:
    """Forgets what was read if modules have come or gone since: a program that traces for days meets many. Called once
    for each script or question."""
    h = host()
    try:
        modules = h.read_text("/proc/modules", 1 << 22)
    except OSError:
        return
    # the third column counts users, which change all the time
    loaded_now = [(words[0], words[-1]) for line in modules.splitlines() if (words := line.split())]
    if h.cache.get("modules") != loaded_now:
        for name in _OF_MODULES:
            h.cache.pop(name, None)
        btf: dict[str, object] = h.cache.get("kernel_btf", {})
        for module in [m for m in btf if m != "vmlinux"]:
            del btf[module]
        h.cache["modules"] = loaded_now


def module_loaded(name: str) -> bool:
    """True also where it cannot be told. What is built in has no module, whatever its source calls itself."""
    h = host()
    if "modules" not in h.cache:
        refresh()
    modules = h.cache.get("modules")
    return modules is None or name == "vmlinux" or any(name == known for known, _ in modules)


def choose_list(path: str) -> None:
    """Takes what can be traced from a file instead of tracefs; an empty path goes back to that."""
    cache = host().cache
    if cache.get("traceable_path", "") != path:
        cache["traceable_path"] = path
        cache.pop("traceable_functions", None)


def chosen_list() -> TraceableFunctions | None:
    """What can be traced, if somebody named a file for it. Raises ``UsageError``."""
    return traceable() if host().cache.get("traceable_path") else None


def traceable() -> TraceableFunctions:
    """Raises ``KernelError`` where the list is absent (no function tracer) or may not be read, ``UsageError`` if that
    is a file that somebody named."""
    cache = host().cache
    found = cache.get("traceable_functions")
    if found is None:
        path = cache.get("traceable_path", "")
        text = (_read(path) if path else tracefs.filter_functions_bytes()).decode("ascii", "replace")
        found = cache["traceable_functions"] = TraceableFunctions(text)
    assert isinstance(found, TraceableFunctions)
    return found


def _read(path: str) -> bytes:
    try:
        return host().read_bytes(path)
    except OSError as e:
        raise UsageError(f"Could not read functions from {path}: {e.strerror}") from None


def loaded() -> TraceableFunctions | None:
    """The same if it is at hand, without reading anything."""
    found = host().cache.get("traceable_functions")
    return found if isinstance(found, TraceableFunctions) else None


def symbols() -> list[tuple[str, str]]:
    """(function, module) of /proc/kallsyms, in its order: what kprobes can name where there is no function tracer."""
    text = _kallsyms_text()
    found = re.findall(r"^[0-9a-f]+ [tTwW] (\S+)(?:\t\[([^\]]+)\])?$", text, re.MULTILINE)
    return [(n, m) for n, m in found if m not in ("bpf", "__builtin__ftrace", "__builtin__kprobes")][:MOST_LISTED]


def names() -> list[str]:
    """The functions of ``symbols``, sorted: what a misspelt name is compared with. Remembered, for a script may
    misspell many."""
    cache = host().cache
    if "kernel_function_names" not in cache:
        cache["kernel_function_names"] = sorted({n for n, _ in symbols()})
    found: list[str] = cache["kernel_function_names"]
    return found


_CODE = frozenset({" t ", " T ", " w ", " W "})


def find_symbol(name: str, module: str = "") -> tuple[str, str] | None:
    """(name, module) of a code symbol; ``None`` if the kernel has none such. Raises ``KernelError``."""
    text, at = _kallsyms_text(), 0
    while (at := text.find(f" {name}", at) + 1) > 0:  # fifty times as fast as a regular expression over 10 MB
        end = text.find("\n", at)
        rest = text[at + len(name) : end if end >= 0 else len(text)]
        where = rest[2:-1]
        if text[at - 3 : at] in _CODE and (not rest or rest.startswith("\t[")) and module in ("", "vmlinux", where):
            return name, where
    return None


def has_module(module: str) -> bool:
    """Whether it is loaded, and has symbols. Raises ``KernelError``."""
    return f"\t[{module}]" in _kallsyms_text()


def _kallsyms_text() -> str:
    cache = host().cache
    if "kallsyms_text" not in cache:
        try:
            cache["kallsyms_text"] = host().read_bytes("/proc/kallsyms").decode("utf-8", "replace")
        except OSError as e:
            raise KernelError("open(/proc/kallsyms)", e.errno or 0) from None
    text = cache["kallsyms_text"]
    assert isinstance(text, str)
    return text


def address_of(name: str) -> int:
    """Of a symbol of the running kernel; 0 if it has none such, or hides addresses. Raises ``KernelError``."""
    from probescope.debuginfo.kallsyms import Kallsyms

    return Kallsyms(_kallsyms_text().encode()).address(name) or 0


def name_at(address: int) -> str:
    """``function+0x10`` at a kernel address; an empty text where nothing is known."""
    from probescope.debuginfo.kallsyms import Kallsyms

    found = Kallsyms(_kallsyms_text().encode()).lookup(address)
    return "" if found is None else found[0] + (f"+{found[1]:#x}" if found[1] else "")


def forbidden(name: str) -> bool:
    """Whether the kernel lists the function as one that no kprobe may sit on."""
    cache = host().cache
    if "kprobe_blacklist" not in cache:
        cache["kprobe_blacklist"] = tracefs.kprobe_blacklist()
    return name in cache["kprobe_blacklist"]


def traceable_names(names: set[str]) -> set[str]:
    """Those of ``names`` that ftrace can take, and that are of one function only; empty where it cannot be asked."""
    try:
        found = traceable()
    except KernelError:
        return set()
    if len(names) > _FEW:
        heads = Counter(line.partition(" ")[0] for line in found.text.split("\n"))
        return {n for n in names if heads[n] == 1}
    return {n for n in names if found.count(n) == 1}
