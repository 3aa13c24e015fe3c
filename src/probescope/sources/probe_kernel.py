"""Probe definitions in the kernel: by the debug information of its vmlinux or of a module, else by its BTF.

With debug information a place is told from ``_text``, as perf probe does: names of functions are not unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probescope.debuginfo import vmlinux
from probescope.debuginfo.dwarf_places import Spot
from probescope.errors import DwarfError, ProbeError
from probescope.frozen import replace
from probescope.kernel.host import host
from probescope.model.fetch import Deref, Fetch, Register
from probescope.model.probe_def import ProbeDef
from probescope.model.probe_found import FoundArg, FoundProbe
from probescope.model.types import TypeTable
from probescope.sources import boundaries, func_fields, kernel_btf, kernel_functions, probe_inside
from probescope.sources.context import ResolveContext
from probescope.sources.globs import is_glob
from probescope.sources.kprobe import nearest_function
from probescope.sources.probe_args import CannotFetch, Value
from probescope.sources.probe_debug import DebugPlaces, SourceTexts
from probescope.sources.probe_images import (
    KernelImage,
    is_path,
    module_build_id,
    module_name,
    module_places,
    open_image,
    running_build_id,
)
from probescope.sources.probe_resolve import Surroundings, arguments
from probescope.sources.probe_target import Wanted
from probescope.sources.probe_user import at_each

HOW = "the kernel's debug symbols tell more: linux-image-{0}-dbg, or -k VMLINUX"
LISTS = "probescope probe -m MODULE -F lists its functions"
MAX_CODE = 1 << 16


class KernelTarget:
    """``label``: how messages call it. Nothing is opened before it is asked for."""

    label = "the kernel"

    def __init__(self, wanted: Wanted, ctx: ResolveContext, texts: SourceTexts) -> None:
        self.wanted, self.ctx, self.arch, self.texts = wanted, ctx, ctx.arch, texts
        self.reason = "the kernel's debug information is not here"
        name = module_name(wanted.module)
        self.module = "" if name == "vmlinux" else name  # the kernel itself, as its file is called
        self.image: KernelImage | None = None
        self._debug: DebugPlaces | None = None
        self._looked = False

    # --- debug information --------------------------------------------------------------------------------------------

    @property
    def debug(self) -> DebugPlaces | None:
        """``None`` where there is none, for the ``reason``. Raises ``ProbeError`` for a file that the user names and
        that cannot be used."""
        if not self._looked:
            self._looked = True
            image = self._image_of()
            if image is not None:
                self.image = image
                self._debug = DebugPlaces(image.dwarf, image)
                image.scopes = self._debug.scopes
            elif self.module:
                self._loaded()
                self.reason = self.reason.replace("the kernel's debug", f"module {self.module}'s debug")
        return self._debug

    def _image_of(self) -> KernelImage | None:
        wanted = self.wanted
        named = wanted.module if is_path(wanted.module) else "" if wanted.module else wanted.vmlinux
        running = module_build_id(self.module) if self.module else running_build_id()
        for path in self._paths(named, running):
            found = open_image(path, self.arch, self.module)
            if isinstance(found, str):
                self.reason = found if named else self.reason
            elif not running or found.build_id == running or self._offline(found, running, named):
                return found
        if named:
            raise ProbeError(f"{named} has no debug information that can be read: {self.reason}")
        return None

    def _paths(self, named: str, running: str) -> Iterator[str]:
        if not self.module:
            yield from vmlinux.places(host().release, running, named)
        elif named:
            yield named
        else:
            yield from module_places(self.module, host().release, running)
        fetched = self.wanted.fetch(running) if self.wanted.fetch is not None and running and not named else ""
        if fetched:
            yield fetched

    def _offline(self, found: KernelImage, running: str, named: str) -> bool:
        """Another build's file serves only where the user names it, and only for looking. Raises ``ProbeError``."""
        ids = f"its build-id is {found.build_id[:12]}..., the running one's {running[:12]}..."
        what = f"module {self.module}" if self.module else "kernel"
        if named and self.wanted.live:
            hints = [f"linux-image-{host().release}-dbg has the right one; without it, BTF tells of parameters"]
            raise ProbeError(f"{named} belongs to another build of the {what}: {ids}", hints=hints)
        if not named:
            self.reason = f"the debug information that is here belongs to another build of the {what} ({ids})"
        return bool(named)

    # --- definitions --------------------------------------------------------------------------------------------------

    def resolve(self, d: ProbeDef) -> list[FoundProbe]:
        """Raises ``ProbeError``, ``ScriptError``, ``KernelError``."""
        if d.place.sdt:
            raise ProbeError("the kernel has no USDT probes", hints=["-x FILE names a program that has"])
        name = d.place.function
        if name and not is_glob(name) and kernel_functions.forbidden(name):
            hints = [f"its callers can be probed: probescope run -e 'kprobe:...' on them; {name} itself never"]
            raise ProbeError(f"the kernel forbids probes on {name} (debugfs kprobes/blacklist)", hints=hints)
        if self._needs_debug(d):
            return self._by_debug(d)
        return self._by_name(d)

    def _needs_debug(self, d: ProbeDef) -> bool:
        """Whether debug information is to be asked. Bare functions with registers are as good without it."""
        deep = probe_inside.is_deep(d.place)
        if deep and self.debug is None:
            hints = [HOW.format(host().release)]
            raise ProbeError(f"{self.reason}: there are no lines", hints=hints)
        return deep or (self.debug is not None and not is_glob(d.place.function))

    def _by_debug(self, d: ProbeDef) -> list[FoundProbe]:
        debug = self.debug
        assert debug is not None
        assert self.image is not None
        globbed = is_glob(d.place.function)
        try:
            spots = [] if globbed else debug.spots(d.place, inlined=self.wanted.inlined, texts=self.texts)
            if not spots and not probe_inside.is_deep(d.place):
                return self._by_name(d)
            spots = spots or probe_inside.spots(debug, d.place, self._addresses(d), self.texts)
        except DwarfError as e:
            raise ProbeError(f"the kernel's debug information is damaged: {e}") from e
        kept = [s for s in spots if not self.image.forgotten(s.address)]
        if not kept:
            raise ProbeError(f"{d.place} has code only in parts of the kernel that are freed after its start")
        return at_each(kept, lambda s: replace(self._at(d, s), base=s.name if globbed else ""))

    def _addresses(self, d: ProbeDef) -> list[tuple[str, int]]:
        """Functions that are named, and where the image has them. Raises ``ProbeError`` if there are none."""
        name = d.place.function
        if is_glob(name):
            found = [n for n, _ in self._traceable(name)]
        else:
            where = kernel_functions.find_symbol(name, self.module)
            if where is None:
                raise self._inlined(d) or self._unknown(name)
            found = [where[0]]
        assert self.image is not None
        return [(n, at) for n in found for at in self.image.symbol_addresses(n)]

    def _traceable(self, glob: str) -> list[tuple[str, str]]:
        found = kernel_functions.traceable().match(glob, self.module)
        if not found:
            raise ProbeError(f"no function of the kernel matches '{glob}'")
        return list(found)

    def _at(self, d: ProbeDef, spot: Spot) -> FoundProbe:
        debug = self.debug
        assert debug is not None
        image = self.image
        assert image is not None
        self._on_instruction(image, spot)

        def every(kind: str) -> Iterable[str]:
            return debug.names_at(kind, spot.address, spot.owner)

        entered = spot.address == spot.entry and not spot.inlined
        around = Surroundings(
            self.arch,
            lambda name: debug.variable(name, spot.address, spot.owner),
            debug.types,
            entered,
            d.place.ret,
            every,
        )
        args, lost = arguments(d, around)
        symbol, inside = image.place(spot.address)
        return FoundProbe(
            "", symbol, inside, d.place.ret, args, spot.name, spot.address - spot.entry,
            spot.address, line=spot.line, module=self.module, inlined=spot.inlined, lost=lost,
        )  # fmt: skip

    def _on_instruction(self, image: KernelImage, spot: Spot) -> None:
        start = image.start_of(spot.address) if spot.address != spot.entry else None
        if start is None or not 0 < spot.address - start < MAX_CODE:
            return
        code = image.code(start, spot.address - start + 15)
        if any(code) and boundaries.is_boundary(code, spot.address - start, self.arch.name) is False:
            where = f"{spot.name}+{spot.address - spot.entry}"
            near = boundaries.around(code, spot.address - start, self.arch.name)
            hints = [f"instructions begin at {' and '.join(f'+{n}' for n in near)} from the function's start"]
            raise ProbeError(f"no instruction begins at {where}: a probe there would break the kernel", hints=hints)

    # --- without debug information ------------------------------------------------------------------------------------

    def _by_name(self, d: ProbeDef) -> list[FoundProbe]:
        p = d.place
        if p.address is not None:
            name = kernel_functions.name_at(p.address)
            args, _ = self._args(d, "", entry=False)
            return [FoundProbe("", "", 0, p.ret, args, name.partition("+")[0], address=p.address)]
        if is_glob(p.function):
            return [self._named(d, n, m) for n, m in self._traceable(p.function)]
        where = kernel_functions.find_symbol(p.function, self.module)
        if where is None:
            raise self._inlined(d) or self._unknown(p.function)
        return [self._named(d, *where)]

    def _named(self, d: ProbeDef, name: str, module: str) -> FoundProbe:
        p = d.place
        args, lost = self._args(d, name, entry=not p.offset, module=module)
        module = "" if module in ("bpf", "__builtin__ftrace", "__builtin__kprobes") else module
        return FoundProbe("", name, p.offset, p.ret, args, name, p.offset, module=module, lost=lost)

    def _args(
        self, d: ProbeDef, name: str, *, entry: bool, module: str = ""
    ) -> tuple[tuple[FoundArg, ...], tuple[str, ...]]:
        found = kernel_btf.functions(module)
        fn = found.find(name) if found is not None and name else None
        table: TypeTable | None = found.types if found is not None else None
        places: dict[str, Value] = {}
        if fn is not None and found is not None:
            for f in func_fields.registers(fn, found.types, self.ctx):
                index = getattr(f.where, "index", 0)
                places[f.name] = Value(self._argument(index), f.type)

        def variable(wanted: str) -> Value:
            if wanted in places and entry:
                return places[wanted]
            raise self._no_variable(name, wanted, list(places), entry, known=fn is not None)

        def every(_kind: str) -> list[str]:
            return list(places) if entry else []

        around = Surroundings(self.arch, variable, table, entry, d.place.ret, every)
        return arguments(d, around)

    def parameters(self, name: str) -> list[tuple[str, str]] | None:
        """(type, name) of a function's parameters, as BTF has them; ``None`` if it does not know the function."""
        from probescope.sources import btf_text

        where = kernel_functions.find_symbol(name, self.module)
        found = kernel_btf.functions(where[1] if where is not None else self.module)
        fn = found.find(name) if found is not None else None
        if fn is None or found is None:
            return None
        rows = found.btf.params(found.btf.raw(fn.btf_id).third)
        texts = [btf_text.declaration(found.btf, t, "").replace(" *", "*") for _, t in rows]
        return list(zip(texts, [p.name for p in fn.params], strict=False))

    def _argument(self, index: int) -> Fetch:
        registers = self.arch.arg_regs
        if index < len(registers):
            return Register(registers[index])
        return Deref(Register(self.arch.sp), self.arch.stack_args + 8 * (index - len(registers)))

    def _no_variable(self, name: str, wanted: str, names: list[str], entry: bool, *, known: bool) -> CannotFetch:
        from probescope.diagnostics import nearest

        how = HOW.format(host().release)
        if not entry:
            return CannotFetch(f"{self.reason}: {wanted} is known only where {name} is entered", how)
        if not known:
            lacks = "it lacks assembler, and what compilers inlined or changed"
            why = lacks if kernel_btf.functions() is not None else "there is none"
            who = "neither debug information nor BTF knows" if self.debug is not None else "BTF does not know"
            how = "" if self.debug is not None else f"; {how}"
            return CannotFetch(f"{who} {name} ({why}): {wanted} is not known", f"$arg1 to $arg6 are its arguments{how}")
        hints = [f"did you mean {n}?" for n in nearest(wanted, names)] or [
            f"its parameters are {', '.join(names) or 'none'}"
        ]
        return CannotFetch(f"{name} has no parameter {wanted}, and of locals BTF knows nothing", *hints, how)

    def _inlined(self, d: ProbeDef) -> ProbeError | None:
        """Where debug information knows a function that has no code of its own."""
        p = d.place
        if self.debug is None or next(self.debug.functions.each(p.function, p.file), None) is None:
            return None
        hints = ["a probe at each copy has its variables: without %return" if p.ret else "without --no-inlines"]
        why = "has no code of its own: it is inlined wherever it is called"
        return ProbeError(f"{p.function} of the kernel {why}", hints=[*hints, f"probescope probe -L {p.function}"])

    def _unknown(self, name: str) -> ProbeError:
        if self.module:
            return self._not_in_module(name)
        names = kernel_functions.names()
        changed = [n for n in names if n.startswith(f"{name}.")][:3]
        hints = [f"the compiler changed it into {n}: probe that" for n in changed]
        hints += [f"did you mean {n}?" for n in nearest_function(name, names)][:2]
        if self.debug is None and not changed:
            hints.append(f"is it inlined, or of a module that is not loaded? {HOW.format(host().release)}")
        return ProbeError(f"there is no function {name} in the kernel", hints=hints)

    def _not_in_module(self, name: str) -> ProbeError:
        """Raises ``ProbeError`` where the module itself is not there."""
        self._loaded()
        hints = [f"did you mean {n}?" for n in nearest_function(name, self.function_names())][:2]
        where = kernel_functions.find_symbol(name)
        if where is not None:
            hints = [f"{f'module {where[1]}' if where[1] else 'the kernel itself'} has {name}"]
        return ProbeError(f"there is no function {name} in module {self.module}", hints=hints or [LISTS])

    def _loaded(self) -> None:
        """Raises ``ProbeError`` if the module has no code in the kernel."""
        if not kernel_functions.has_module(self.module):
            hints = ["lsmod lists those that are; what is built in belongs to the kernel: without -m"]
            raise ProbeError(f"no module {self.module} with functions is loaded", hints=hints)

    def function_names(self) -> list[str]:
        """Raises ``KernelError``, and ``ProbeError`` for a module that is not there."""
        if self.module:
            self._loaded()
        return sorted({n for n, m in kernel_functions.symbols() if not self.module or m == self.module})
