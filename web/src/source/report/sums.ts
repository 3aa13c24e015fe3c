/** What a report can add up by itself over a selection. */
import { FLAG, STATE, STATE_NAMES } from "../../tracks/kinds";
import type { Track, Typed } from "../types";
import type { Container } from "./container";
import { type May, picked } from "./filter";
import { bisect } from "./lists";
import { level } from "./tiles";

/** Whether what a thread did on a CPU is meant; -1: it is not known on which. */
export type Chosen = (utid: number, cpu: number) => boolean;

/** What a selection of tracks means, null: everything; and what a filter leaves of it. */
export function chosen(c: Container, tracks: string[] | null, holds: May | null = null): Chosen {
  const { utids, cpus } = meant(c, tracks);
  const selected = (utid: number, cpu: number): boolean =>
    (!utids && !cpus) || !!utids?.has(utid) || (!!cpus && (cpu < 0 ? !utids : cpus.has(cpu)));
  return holds ? (utid, cpu) => selected(utid, cpu) && holds(utid, cpu) : selected;
}

function meant(c: Container, tracks: string[] | null): { utids: Set<number> | null; cpus: Set<number> | null } {
  if (!tracks) return { utids: null, cpus: null };
  const byId = new Map(c.tracks.map((t) => [t.id, t]));
  const utids = new Set<number>();
  const cpus = new Set<number>();
  const add = (t: Track): void => {
    if (t.kind === "cpu" && t.cpu !== undefined) cpus.add(t.cpu);
    if (t.kind === "thread" && t.utid !== undefined) utids.add(t.utid);
  };
  for (const id of tracks) {
    const track = byId.get(id);
    if (track) add(track);
    const parent = track?.parent ? byId.get(track.parent) : undefined;
    if (parent) add(parent);
    if (track?.kind === "process") for (const t of c.tracks) if (t.parent === id) add(t);
  }
  return { utids: utids.size ? utids : null, cpus: cpus.size ? cpus : null };
}

type Sums = { head: object; arrays: Record<string, Typed> };

export function flame(c: Container, start: number, end: number, by: Chosen): Sums {
  const { arrays: a } = c;
  const [ts, site, weight] = [a["sample.ts"], a["sample.site"], a["sample.weight"]];
  const [parents, frames] = [a["site.parent"], a["site.frame"]];
  const names = a["frame.name"];
  if (!ts || !site || !weight || !parents || !frames || !names) return { head: {}, arrays: {} };
  const total = new Float64Array(parents.length);
  for (let i = bisect(ts, start); i < ts.length && ts[i]! < end; i++) {
    if (!by(a["sample.utid"]?.[i] ?? -1, a["sample.cpu"]?.[i] ?? -1)) continue;
    if (site[i]! >= 0) total[site[i]!]! += weight[i]!;
  }
  const self = total.slice();
  // parents come before their children
  for (let i = parents.length - 1; i >= 0; i--) if (parents[i]! >= 0) total[parents[i]!]! += total[i]!;
  const kept = [...total.keys()].filter((i) => total[i]! > 0);
  const at = new Map(kept.map((old, i) => [old, i]));
  return {
    head: { unit: c.unit },
    arrays: {
      parent: Int32Array.from(kept, (i) => at.get(parents[i]!) ?? -1),
      frame: Uint32Array.from(kept, (i) => names[frames[i]!]!),
      self: Float64Array.from(kept, (i) => self[i]!),
      total: Float64Array.from(kept, (i) => total[i]!),
    },
  };
}

export function latency(c: Container, start: number, end: number, by: Chosen): Sums {
  const { arrays: a } = c;
  const [at, waits] = [a["wake.at"], a["wake.latency"]];
  const found: number[] = [];
  for (let i = at ? bisect(at, start) : 0; at && waits && i < at.length && at[i]! < end; i++) {
    const fits = by(a["wake.to"]?.[i] ?? -1, a["wake.to_cpu"]?.[i] ?? -1);
    if (fits && !Number.isNaN(waits[i]!)) found.push(waits[i]!);
  }
  return histogram(found, "from the wake-up until it ran");
}

/** Durations of system calls that are in the report one by one; where some are only there together, it is said. */
export function calls(c: Container, start: number, end: number, by: Chosen): Sums {
  const found: number[] = [];
  let merged = 0;
  const above = new Map(c.tracks.map((t) => [t.id, t]));
  for (const track of c.tracks) {
    if (track.kind !== "syscall" || !by(above.get(track.parent ?? "")?.utid ?? -1, -1)) continue;
    const { start: from, end: until, count, kind } = level(c, track.id, 0) ?? {};
    for (let i = 0; from && until && i < from.length; i++) {
      if (from[i]! < start || from[i]! >= end || (kind?.[i] ?? 0) & (FLAG.openStart | FLAG.openEnd)) continue;
      if ((count?.[i] ?? 1) > 1) merged += count![i]!;
      else found.push(until[i]! - from[i]!);
    }
  }
  const cut = merged ? `; ${merged.toLocaleString("en")} more are in this report only as sums` : "";
  return histogram(found, `of system calls${cut}`);
}

export function histogram(values: number[], about: string): Sums {
  if (!values.length) return { head: { about }, arrays: {} };
  const sorted = Float64Array.from(values).sort();
  const power = (n: number): number => Math.floor(Math.log2(Math.max(n, 1)));
  const [first, last] = [power(sorted[0]!), power(sorted.at(-1)!)];
  const counts = new Float64Array(last - first + 1);
  for (const v of sorted) counts[power(v) - first]!++;
  const edges = Float64Array.from({ length: counts.length + 1 }, (_, i) => 2 ** (first + i));
  const part = (p: number): number => sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)]!;
  return {
    head: { p50: part(0.5), p90: part(0.9), p99: part(0.99), max: sorted.at(-1), about },
    arrays: { edges, counts },
  };
}

/** Time of slices of some kind of track within a range, by what `key` says of each. */
function times(
  c: Container,
  kind: string,
  range: [start: number, end: number],
  want: (t: Track, arrays: Record<string, Typed>, i: number) => boolean,
  key: (t: Track, arrays: Record<string, Typed>, i: number) => string,
): Map<string, { n: number; ns: number; most: number }> {
  const sums = new Map<string, { n: number; ns: number; most: number }>();
  for (const track of c.tracks) {
    if (track.kind !== kind) continue;
    const arrays = level(c, track.id, 0);
    const { start, end, fill, count } = arrays ?? {};
    for (let i = 0; arrays && start && end && i < start.length; i++) {
      const covered = Math.min(end[i]!, range[1]) - Math.max(start[i]!, range[0]);
      if (covered <= 0 || !want(track, arrays, i)) continue;
      const name = key(track, arrays, i);
      const sum = sums.get(name) ?? { n: 0, ns: 0, most: 0 };
      const n = count?.[i] ?? 1;
      sum.n += n;
      sum.ns += n > 1 && fill ? (covered * fill[i]!) / 255 : covered;
      if (n <= 1) sum.most = Math.max(sum.most, covered);
      sums.set(name, sum);
    }
  }
  return sums;
}

const COUNTED = { kinds: ["event", "kind"], tasks: ["task", "task"], cpus: ["cpu", "cpu"] } as const;

/** How many of the events that are in the report, by something. */
export function counts(
  c: Container,
  what: keyof typeof COUNTED,
  start: number,
  end: number,
  by: Chosen,
  filter = "",
): Sums {
  const { "ev.ts": ts, "ev.utid": utid, "ev.cpu": cpu } = c.arrays;
  const [title, column] = COUNTED[what];
  const places = picked(c, filter);
  const sums = new Map<number, [n: number, first: number, last: number]>();
  let total = 0;
  const count = places?.length ?? ts?.length ?? 0;
  for (let at = 0; ts && at < count; at++) {
    const i = places ? places[at]! : at;
    if (ts[i]! < start || ts[i]! >= end || !by(utid?.[i] ?? -1, cpu?.[i] ?? -1)) continue;
    const key = c.arrays[`ev.${column}`]?.[i] ?? -1;
    const one = sums.get(key);
    sums.set(key, one ? [one[0] + 1, one[1], ts[i]!] : [1, ts[i]!, ts[i]!]);
    total++;
  }
  const name = (key: number): unknown => (what === "cpus" ? key : (c.names.get(key) ?? ""));
  const rows = [...sums].map(([key, [n, first, last]]) => [name(key), n, (n * 100) / total, first, last]);
  rows.sort((p, q) => (q[1] as number) - (p[1] as number));
  const more = [{ name: "events" }, { name: "share", unit: "%" }, { name: "first", unit: "ts" }];
  return { head: { columns: [{ name: title }, ...more, { name: "last", unit: "ts" }], rows }, arrays: {} };
}

export const isCount = (what: string): what is keyof typeof COUNTED => what in COUNTED;

export function table(c: Container, what: string, start: number, end: number, by: Chosen): Sums {
  const parent = new Map(c.tracks.map((t) => [t.id, t]));
  const columns = [{ name: "task" }, { name: "times" }, { name: "time", unit: "ns" }, { name: "share", unit: "part" }];
  const wide = end - start || 1;
  const rows = (sums: ReturnType<typeof times>): unknown[][] =>
    [...sums]
      .map(([k, s]) => [k, s.n, s.ns, s.ns / wide] as unknown[])
      .sort((p, q) => (q[2] as number) - (p[2] as number));
  if (what === "top") {
    const ran = (t: Track, a: Record<string, Typed>, i: number): boolean => by(a.value?.[i] ?? -1, t.cpu ?? -1);
    const sums = times(c, "cpu", [start, end], ran, (_t, a, i) => {
      const thread = c.threads.get(a.value?.[i] ?? -1);
      return thread ? `${thread.name} ${thread.tid}` : (c.names.get(a.name?.[i] ?? -1) ?? "");
    });
    return { head: { columns, rows: rows(sums) }, arrays: {} };
  }
  if (what === "states") {
    const sums = times(
      c,
      "thread",
      [start, end],
      (t) => by(t.utid ?? -1, -1),
      (t, a, i) => `${t.name}: ${STATE_NAMES[(a.kind?.[i] ?? 0) & STATE.mask]}`,
    );
    return { head: { columns: [{ name: "state" }, ...columns.slice(1)], rows: rows(sums) }, arrays: {} };
  }
  const inThread = (t: Track): boolean => by(parent.get(t.parent ?? "")?.utid ?? -1, -1);
  const sums = times(c, "syscall", [start, end], inThread, (_t, a, i) => c.names.get(a.name?.[i] ?? -1) ?? "");
  const made = [...sums].map(([k, s]) => [k, s.n, s.ns, s.most]).sort((p, q) => (q[2] as number) - (p[2] as number));
  const named = [{ name: "call" }, { name: "calls" }, { name: "time", unit: "ns" }, { name: "longest", unit: "ns" }];
  return { head: { columns: named, rows: made }, arrays: {} };
}
