/** The data of a report in one file answer what the server would: nothing is asked of anybody. */
import { type Container, unpack } from "./report/container";
import { may } from "./report/filter";
import * as lists from "./report/lists";
import * as sums from "./report/sums";
import { area, level, slices } from "./report/tiles";
import { Refused, type Reply, type Source, type Track, type Typed } from "./types";

// biome-ignore lint/suspicious/noExplicitAny: each operation knows its own arguments, as the server does
type Args = any;
type Answer = { head?: object; arrays?: Record<string, Typed> };
type Answers = Record<string, (c: Container, args: Args) => Answer>;

function tracks(
  c: Container,
  a: { parent?: string | null; ids?: string[]; find?: string; offset?: number; limit?: number },
): Answer {
  const index = (t: Track): Track => ({ ...t, index: c.tracks.filter((o) => o.parent === t.parent).indexOf(t) });
  if (a.ids) return { head: { tracks: c.tracks.filter((t) => a.ids!.includes(t.id)).map(index) } };
  const text = a.find?.toLowerCase();
  const fits = (t: Track): boolean => `${t.name} ${t.sub ?? ""}`.toLowerCase().includes(text!);
  const all = text
    ? c.tracks.filter((t) => t.kind !== "group" && fits(t))
    : c.tracks.filter((t) => t.parent === (a.parent ?? null));
  const offset = a.offset ?? 0;
  return { head: { total: all.length, tracks: all.slice(offset, offset + (a.limit ?? all.length)) } };
}

/** Rows of columns, of a range of time, that are fit. */
function between(c: Container, table: string, columns: string[], range: Range, fits: (i: number) => boolean): Answer {
  const at = c.arrays[`${table}.at`];
  if (!at) return {};
  const rows: number[] = [];
  for (let i = lists.bisect(at, range.start); i < at.length && at[i]! < range.end; i++) if (fits(i)) rows.push(i);
  if (rows.length > (range.limit ?? rows.length)) return { head: { many: rows.length } };
  const part = (name: string): [string, Typed] => {
    const all = c.arrays[`${table}.${name}`]!;
    return [name, Float64Array.from(rows, (i) => all[i]!)];
  };
  return { arrays: Object.fromEntries(columns.map(part)) };
}

interface Range {
  start: number;
  end: number;
  limit?: number;
}

const ARROWS = ["at", "from", "from_cpu", "to", "to_cpu", "run", "latency", "id"];

function arrows(c: Container, a: Range & { filter?: string }): Answer {
  const holds = may(c, a.filter);
  const of = (name: string, i: number): number => c.arrays[`wake.${name}`]?.[i] ?? -1;
  const fits = (i: number): boolean =>
    !holds || holds(of("from", i), of("from_cpu", i)) || holds(of("to", i), of("to_cpu", i));
  return between(c, "wake", ARROWS, a, fits);
}

function detail(c: Container, { kind, id }: { kind: string; id: number }): Answer {
  if (kind !== "event") return { head: { title: "", pairs: [], stack: [] } };
  const i = lists.rowOf(c, id);
  if (i < 0) throw new Refused("this event was left out of the report");
  const [, , cpu, task, name, info] = lists.row(c, i) as string[];
  return {
    head: {
      title: name,
      pairs: [
        ["CPU", String(cpu)],
        ["task", task],
        ["what", info],
      ],
      stack: [],
    },
  };
}

/** The slice of a track after or before another. */
function step(c: Container, { track, ts, forward }: { track: string; ts: number; forward: boolean }): Answer {
  const { start, end, id, name, depth } = level(c, track, 0) ?? {};
  let best = -1;
  for (let i = 0; start && i < start.length; i++) {
    const after = forward ? start[i]! > ts : start[i]! < ts;
    if (after && (best < 0 || (forward ? start[i]! < start[best]! : start[i]! > start[best]!))) best = i;
  }
  if (best < 0) return { head: { none: true } };
  const text = c.names.get(name?.[best] ?? -1) ?? "";
  return { head: { start: start![best], end: end?.[best], thing: id?.[best], depth: depth?.[best] ?? 0, name: text } };
}

interface Selecting {
  what: string;
  start: number;
  end: number;
  tracks: string[] | null;
  filter?: string;
}

function select(c: Container, a: Selecting): Answer {
  const by = sums.chosen(c, a.tracks, may(c, a.filter));
  if (a.what === "flame") return sums.flame(c, a.start, a.end, by);
  if (a.what === "latency") return sums.latency(c, a.start, a.end, by);
  if (a.what === "syscall_latency") return sums.calls(c, a.start, a.end, by);
  if (sums.isCount(a.what)) {
    const whole = sums.chosen(c, a.tracks);
    return sums.counts(c, a.what, a.start, a.end, whole, a.filter);
  }
  return sums.table(c, a.what, a.start, a.end, by);
}

const ANSWERS: Answers = {
  open: (c) => ({ head: c.open }),
  tracks,
  slices: (c, a) => ({ arrays: slices(c, a.track, a.start, a.end, a.width, may(c, a.filter)) }),
  area: (c, a) => ({ arrays: area(c, a.track, a.start, a.end, a.width) }),
  arrows,
  lost: (c, a) => between(c, "lost", ["at", "cpu", "recording", "count"], a, () => true),
  events: (c, a) => ({ head: lists.events(c, a.offset, a.limit, a.filter) }),
  locate: (c, a) => ({ head: { row: lists.locate(c, a.ts, a.filter) } }),
  row_of: (c, a) => ({ head: { row: lists.rowOf(c, a.id, a.filter) } }),
  check: (c, a) => ({ head: { ok: may(c, a.filter) !== undefined } }),
  detail,
  find: (c, a) => ({ head: lists.find(c, a.text, a.kind, a.from, a.forward, a.filter) }),
  count: (c, a) => ({ head: { count: lists.count(c, a.text, a.kind, a.filter) } }),
  step,
  select,
};

export class FileSource implements Source {
  readonly fixed = true;

  constructor(private readonly container: Container) {}

  name(id: number): string {
    return this.container.names.get(id) ?? "";
  }

  onPush(): void {}

  onState(): void {}

  async ask<H>(op: string, args: object): Promise<Reply<H>> {
    const answer = ANSWERS[op];
    if (!answer) throw new Refused("this report has no tables", "open the recording itself: probescope timeline FILE");
    const { head = {}, arrays = {} } = answer(this.container, args);
    return { head: head as H, arrays };
  }
}

/** The source of a page that has its data inside; null for one that has a server. */
export async function fileSource(document: Document): Promise<FileSource | null> {
  const found = document.getElementById("probescope-data");
  if (!found?.textContent) return null;
  const source = new FileSource(await unpack(found.textContent));
  found.remove();
  return source;
}
