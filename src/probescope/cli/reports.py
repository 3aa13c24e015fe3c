"""What ``report`` sums up of a recording: which events, by which keys, of which samples; read once, then written."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from probescope.cli.numbers import whole_list
from probescope.cli.parsing import cpu_list, jobs_of
from probescope.cli.report_texts import Texts
from probescope.cli.script_more import switching
from probescope.errors import UsageError
from probescope.frozen import replace
from probescope.views.reporting.branches import by_branches, pieces
from probescope.views.reporting.graph import Style, parse_style
from probescope.views.reporting.keys import BRANCH, KEYS, SUMS, USUAL, USUAL_OF_BRANCHES, Key, Sum, parse_keys
from probescope.views.reporting.rows import PARENT, Row, Rows, Wanted
from probescope.views.reporting.sums import Sums
from probescope.views.reporting.table import Look, Table, heading

if TYPE_CHECKING:
    import numpy as np

    from probescope.cli.recordings import Opened
    from probescope.collect.recorded.told import ToldBatch
    from probescope.model.recording import RawField

    Column = np.ndarray[Any, Any]
    Write = Callable[[str], object]

_ELIDED = (("comms", "comm", "comm"), ("dsos", "dso", "dso"), ("symbols", "symbol", "symbol"))
_ALIKE = {"name", "pid", "tid", "space", "ip", "mode"}
_UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}


class Block:
    """A table of its own: one kind of event, or the members of a group."""

    def __init__(self, opened: Opened, kinds: Sequence[int], group: str, args: Namespace) -> None:
        every = {f.name: _room(f) for e in reversed(opened.recording.events) for f in reversed(e.fields)}
        self.kinds, self.group = tuple(kinds), group
        self.names = [opened.recording.events[k].name for k in kinds]
        events = [opened.recording.events[k] for k in kinds]
        self.fields = {f.name for e in events for f in e.fields}
        own = [f.name for e in events for f in e.fields]
        ahead = [n for n in (*own, *reversed(every)) if not n.startswith("common_")]
        self._all_fields = {n: every[n] for n in ahead} | every
        self.branches = by_branches(opened.recording, args.branch_stack)
        stacked = any("callchain" in e.sampled for e in events) and not self.branches
        self.children = stacked and args.children is not False and not args.hierarchy
        self.style = _style(args, stacked=stacked)
        usual = "caller" if stacked and args.children is not False else "callee"  # of a hierarchy as well
        order = self.style.order or usual
        self.graph = order if stacked and self.style.name != "none" else ""
        self.columns = tuple(replace(c, width=16) if args.ns and c.name == "time" else c for c in self._columns(args))
        keys = tuple(c for c in self.columns if isinstance(c, Key))
        self.wanted = Wanted(
            keys,
            self.children,
            self.graph,
            _names(args.dsos),
            _names(args.symbols),
            args.hide_unresolved,
            args.parent or PARENT,
            args.exclude_other,
            args.symbol_filter or "",
            args.ns,
            self._order(args),
            max(args.group_sort_idx, 0),
        )
        needed = self.wanted.columns()
        if any(c.name.startswith("overhead_") and c.name != "overhead_children" for c in self.columns):
            needed.append("mode")
        self.sums = Sums(opened.told, kinds, needed, Texts(opened, plain=args.raw_trace), _quantum(args.time_quantum))

    def _columns(self, args: Namespace) -> tuple[Key | Sum, ...]:
        """From the left: what -F lists, or the usual sums and what -F adds to them; then the keys."""
        sums: list[Key | Sum] = []
        if not _listed(args):
            names = ["overhead_children"] if self.children else []
            names.append("overhead")
            names += ["overhead_sys", "overhead_us"] if args.showcpuutilization else []
            names += ["sample"] if args.show_nr_samples else []
            names += ["period"] if args.show_total_period else []
            sums = [SUMS[n] for n in names]
        found = [*sums, *(self._parsed(args.fields.removeprefix("+")) if args.fields else ()), *self._keys(args)]
        return tuple(dict.fromkeys(c for c in found if self.children or c.name != "overhead_children"))

    def _keys(self, args: Namespace) -> list[Key | Sum]:
        keys: list[Key | Sum] = []
        if args.sort:
            keys = self._parsed(args.sort)
        elif not _listed(args):
            keys = [BRANCH.get(k) or KEYS[k] for k in (USUAL_OF_BRANCHES if self.branches else USUAL)]
        return [*keys, KEYS["parent"]] if args.parent and KEYS["parent"] not in keys else keys

    def _order(self, args: Namespace) -> tuple[Key | Sum, ...]:
        """Rows are sorted by what -s lists, and then by what -F does; by their weight before all, unless one of both
        says where that comes."""
        keys = self._keys(args)
        if not _listed(args):
            weights = ["overhead_children"] if self.children else []
            weights += [] if "overhead" in (args.sort or "") else ["overhead"]
            keys = [*(SUMS[w] for w in weights if SUMS[w] not in keys), *keys]
        shown = {c.name: c for c in self.columns}
        return tuple(dict.fromkeys([*(shown.get(k.name, k) for k in keys), *self.columns]))

    def _parsed(self, text: str) -> list[Key | Sum]:
        """Fields of other events than these have no column here."""
        found = parse_keys(text, self._all_fields, branches=self.branches)
        return [k for k in found if not isinstance(k, Key) or not k.field or k.head in self.fields]


class Report:
    """``read`` goes through the recording, ``write`` tells whether there was anything to write."""

    def __init__(self, opened: Opened, args: Namespace) -> None:
        self.opened, self.args = opened, args
        opened.told.tasks.forget_ended = False  # what ran is worth a name, also while it ends
        self.lost = self.lost_chunks = 0
        self.blocks: list[Block] = []
        try:
            re.compile(args.parent or PARENT)
        except re.error as e:
            raise UsageError(f"'{args.parent}' is no regular expression: {e}") from e
        self._known = -1
        self._keep = self._filters()
        self._switch = switching(opened, args)
        self._settle()

    def _settle(self) -> None:
        """Blocks of events that are known so far: pipes tell of more while they are read."""
        events = self.opened.recording.events
        if len(events) == self._known:
            return
        self._known = len(events)
        had = {k for b in self.blocks for k in b.kinds}
        wanted = self.opened.event(self.args.event) if self.args.event else -1
        for kinds, group in self._groups(len(events)):
            if not had & set(kinds) and (wanted < 0 or wanted in kinds):
                chosen = kinds if wanted < 0 else [wanted]
                self.blocks.append(Block(self.opened, chosen, group, self.args))

    def _groups(self, events: int) -> Iterator[tuple[list[int], str]]:
        members: dict[int, tuple[list[int], str]] = {}
        for g in () if self.args.no_group else self.opened.recording.groups:
            if 1 < g.members <= events and g.leader + g.members <= events:
                members[g.leader] = list(range(g.leader, g.leader + g.members)), _group_name(g.name)
        inside = {k for kinds, _ in members.values() for k in kinds}
        for k in range(events):
            if k in members:
                yield members[k]
            elif k not in inside:
                yield [k], ""

    def read(self) -> None:
        """By several processes if that is asked for: what each has to tell of its stacks takes the time that is won by
        reading together (bench perfdata: the same wall clock, two fifths more of the processors)."""
        self.opened.told.summed = self._alike()
        worth = all(b.sums.shared for b in self.blocks) and any("stack" in b.sums.columns for b in self.blocks)
        alone = not worth or self._switch is not None
        self.opened.sums(self._add, self._part, self._join, 1 if alone else jobs_of(self.args) or 1)

    def _add(self, batch: ToldBatch) -> None:
        from probescope.model.recording import LostEvents

        self._settle()
        for _, record in batch.batch.between:
            if isinstance(record, LostEvents):
                self.lost += record.count if record.kind == "lost_samples" else 0
                self.lost_chunks += record.kind != "lost_samples"
        whole, kept = (keep(batch) for keep in self._keep)
        if kept is None:
            both = whole
        elif whole is None:
            both = kept
        else:
            import numpy as np

            both = np.intersect1d(kept, whole, assume_unique=True)
        if self._switch is not None:
            both = whole = self._switch(batch, both)
        relative = self.args.percentage == "relative" or kept is None
        counted = both if relative else (whole if whole is not None else _all(batch))
        branched = any(block.branches for block in self.blocks)
        for some, keep, count in pieces(batch, both, counted) if branched else ((batch, both, counted),):
            for block in self.blocks:
                block.sums.add(some, keep, count)

    def _part(self) -> Any:
        """What a worker has summed up. Losses are told to all of them."""
        from probescope.collect.recorded.sharing import meanings

        parts = [block.sums.part() for block in self.blocks]
        spaces: set[int] = set()
        for block, part in zip(self.blocks, parts, strict=True):
            place = block.sums.columns.index("space") + 1 if "space" in block.sums.columns else 0
            spaces.update(key[place] for key in part[2] if place)
        return parts, meanings(self.opened.told, spaces)

    def _join(self, part: Any) -> None:
        from probescope.collect.recorded.sharing import known

        parts, meant = part
        here = known(self.opened.told, meant)
        for block, one in zip(self.blocks, parts, strict=True):
            block.sums.join(one, here)

    def _alike(self) -> bool:
        """Whether samples that differ in time, CPU and what they carry alone need not be told apart."""
        asked = {c for block in self.blocks for c in block.sums.columns}
        return not (self.args.cpu or self.args.time or self._switch) and asked <= _ALIKE

    def _filters(self) -> tuple[Callable[[ToldBatch], Column | None], Callable[[ToldBatch], Column | None]]:
        """Samples at other times and on other CPUs are as if they were not there; others are hidden, but are a part
        of the whole (perf-report(1), --percentage)."""
        args = self.args
        return (
            self.opened.filter(Namespace(cpu=_cpus_of(self.opened, args), time=args.time)),
            self.opened.filter(Namespace(comms=args.comms, pid=args.pid, tid=args.tid)),
        )

    # --- writing

    def write(self, write: Write) -> bool:
        blocks = [b for b in self.blocks if any(b.sums.samples)]
        if self.args.format == "json":
            for block in blocks:
                self._json(block, write)
            self._missing(write)
            return bool(blocks)
        if blocks and not self.args.quiet:
            if not self.args.header:
                write("# To display the perf.data header info, please use --header/--header-only options.\n#\n")
            keys = {c.name for b in blocks for c in b.columns}
            for option, key, name in _ELIDED:
                only = _only(getattr(self.args, option))
                if only and key in keys:
                    write(f"# {name}: {only}\n")
            write(f"#\n# Total Lost Samples: {self.lost}\n#\n")
        for block in blocks:
            self._table(block, write)
        return bool(blocks)

    def rows(self, block: Block) -> Rows:
        from probescope.views.reporting.lines import Lines
        from probescope.views.reporting.naming import Naming

        framed = tuple(k for k in block.wanted.keys if k.framed)
        lined = any(k.name.startswith(("srcline", "srcfile")) for k in block.wanted.keys)
        lines = Lines(self.opened.told).of if lined else None
        rows = Rows(block.sums, block.wanted, Naming(self.opened.told, framed, lines, self.args.max_stack or 0))
        block.sums.without(rows.unresolved)
        if self.args.percentage == "relative":
            block.sums.weight = [sum(r.stats[i].own for r in rows.rows) for i in range(len(block.kinds))]
        return rows

    def _table(self, block: Block, write: Write) -> None:
        rows = self.rows(block)
        args = self.args
        hidden = tuple(key for option, key, _ in _ELIDED if _only(getattr(args, option)))
        look = Look(
            block.columns,
            block.style,
            args.percent_limit or 0.0,
            args.field_separator,
            hidden,
            args.quiet,
            widths=_widths(args.column_widths),
        )
        if not args.quiet:
            write(heading(block.names, block.group, sum(block.sums.samples), sum(block.sums.weight), args.time or ""))
        table: Table = Table(rows, look)
        if args.hierarchy:
            from probescope.views.reporting.hierarchy import Hierarchy

            table = Hierarchy(rows, look)
        for piece in table.text():
            write(piece)
        write("\n\n")

    def _missing(self, write: Write) -> None:
        """What has no names, as the last object, if anything."""
        import json

        found = self.opened.missing()
        if found:
            told = [{"module": m.module, "places": m.places, "why": m.why, "help": m.help} for m in found]
            write(json.dumps({"missing_symbols": told}) + "\n")

    def _json(self, block: Block, write: Write) -> None:
        import json

        rows = self.rows(block)
        least = self.args.percent_limit or 0.0
        for row in rows.rows:
            weight = row.stats[0].total if block.children else row.stats[0].own
            if 100 * weight / (block.sums.weight[0] or 1) >= least:
                for event in range(len(block.kinds)):
                    if len(block.kinds) == 1 or row.stats[event].samples:
                        write(json.dumps(_object(block, row, event)) + "\n")


def _object(block: Block, row: Row, event: int) -> dict[str, object]:
    stats = row.stats[event]
    whole = block.sums.weight[event] or 1
    data: dict[str, object] = {"event": block.names[event]}
    data |= {
        ("sym" if k.name == "symbol" else k.name): v.text.strip()
        for k, v in zip(block.wanted.keys, row.values, strict=True)
    }
    data |= {"weight": stats.own, "samples": stats.samples, "percent": round(100 * stats.own / whole, 4)}
    if block.children:
        data["with_callees"] = stats.total
    return data


def _cpus_of(opened: Opened, args: Namespace) -> str | None:
    """Of ``-C``, or of a socket. Raises UsageError."""
    cpus: str | None = args.cpu
    if args.socket_filter is None:
        return cpus
    topology = opened.recording.features.get("CPU_TOPOLOGY")
    places = getattr(topology, "cpus", ())
    found = [str(i) for i, p in enumerate(places) if p.socket == args.socket_filter]
    if not found:
        hints = [f"sockets in it: {', '.join(sorted({str(p.socket) for p in places}))}"] if places else []
        raise UsageError(f"the recording tells of no CPU of socket {args.socket_filter}", hints=hints)
    if cpus is not None:
        found = [c for c in found if int(c) in cpu_list(cpus)]
    return ",".join(found or ["65535"])


def _listed(args: Namespace) -> bool:
    """-F says what all the columns are; ``+name`` adds some to the usual ones."""
    return bool(args.fields) and not args.fields.startswith("+")


def _widths(text: str | None) -> tuple[int, ...]:
    widths = whole_list(text, (1 << 12) - 1) if text else []
    if widths is None:
        raise UsageError(f"'{text}' is no list of widths", hints=["-w 10,20,0,30"])
    return tuple(widths)


def _room(field: RawField) -> int:
    """Characters: numbers in hex with 0x, texts as long as they can be."""
    return field.size if field.count or field.dynamic else 2 * field.size + 2


def _style(args: Namespace, *, stacked: bool) -> Style:
    style = parse_style(args.call_graph or "")
    if args.call_graph is not None and not stacked and style.name != "none":
        style = parse_style("none", style)
    if args.inverted:
        style = parse_style("caller", style)
    if args.percent_limit is not None and not re.search(r"[\d.]+", args.call_graph or ""):
        style = parse_style(str(args.percent_limit), style)
    return style


def _group_name(name: str) -> str:
    """Groups without a name are told as ``anon_group``."""
    return "anon group" if name in {"", "anon_group"} or name.startswith("{") else name


def _names(text: str | None) -> frozenset[str]:
    return frozenset(filter(None, (text or "").split(",")))


def _only(text: str | None) -> str:
    names = _names(text)
    return next(iter(names)) if len(names) == 1 else ""


def _all(told: ToldBatch) -> Column:
    import numpy as np

    return np.arange(len(told.batch))


def _quantum(text: str) -> int:
    found = re.fullmatch(r"(\d{1,9})(ns|us|ms|s)", text)
    if not found or not int(found[1]):
        raise UsageError(f"'{text}' is not a length of time", hints=["--time-quantum 100ms"])
    return int(found[1]) * _UNITS[found[2]]
