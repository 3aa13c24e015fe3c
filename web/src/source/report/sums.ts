/** What a report can add up by itself over a selection. */
import { STATE, STATE_NAMES } from "../../tracks/kinds";
import type { Track, Typed } from "../types";
import type { Container } from "./container";
import { bisect } from "./lists";
import { level } from "./tiles";

/** Threads and CPUs that a selection of tracks means; null: all. */
export interface Chosen {
  utids: Set<number> | null;
  cpus: Set<number> | null;
}

export function chosen(c: Container, tracks: string[] | null): Chosen {
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
    if (by.utids && !by.utids.has(a["sample.utid"]?.[i] ?? -1)) continue;
    if (by.cpus && !by.cpus.has(a["sample.cpu"]?.[i] ?? -1)) continue;
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
    const fits = !by.utids || by.utids.has(a["wake.to"]?.[i] ?? -1);
    if (fits && !Number.isNaN(waits[i]!)) found.push(waits[i]!);
  }
  return histogram(found, "from the wake-up until it ran");
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
  want: (t: Track) => boolean,
  key: (t: Track, arrays: Record<string, Typed>, i: number) => string,
): Map<string, { n: number; ns: number; most: number }> {
  const sums = new Map<string, { n: number; ns: number; most: number }>();
  for (const track of c.tracks) {
    if (track.kind !== kind || !want(track)) continue;
    const arrays = level(c, track.id, 0);
    const { start, end, fill, count } = arrays ?? {};
    for (let i = 0; arrays && start && end && i < start.length; i++) {
      const covered = Math.min(end[i]!, range[1]) - Math.max(start[i]!, range[0]);
      if (covered <= 0) continue;
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

export function table(c: Container, what: string, start: number, end: number, by: Chosen): Sums {
  const ofThread = (t: Track): boolean => !by.utids || by.utids.has(t.utid ?? -1);
  const parent = new Map(c.tracks.map((t) => [t.id, t]));
  const columns = [{ name: "task" }, { name: "times" }, { name: "time", unit: "ns" }, { name: "share", unit: "part" }];
  const wide = end - start || 1;
  const rows = (sums: ReturnType<typeof times>): unknown[][] =>
    [...sums]
      .map(([k, s]) => [k, s.n, s.ns, s.ns / wide] as unknown[])
      .sort((p, q) => (q[2] as number) - (p[2] as number));
  if (what === "top") {
    const onCpu = (t: Track): boolean => !by.cpus || by.cpus.has(t.cpu ?? -1);
    const sums = times(c, "cpu", [start, end], onCpu, (_t, a, i) => {
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
      ofThread,
      (t, a, i) => `${t.name}: ${STATE_NAMES[(a.kind?.[i] ?? 0) & STATE.mask]}`,
    );
    return { head: { columns: [{ name: "state" }, ...columns.slice(1)], rows: rows(sums) }, arrays: {} };
  }
  const inThread = (t: Track): boolean => !by.utids || by.utids.has(parent.get(t.parent ?? "")?.utid ?? -1);
  const sums = times(c, "syscall", [start, end], inThread, (_t, a, i) => c.names.get(a.name?.[i] ?? -1) ?? "");
  const made = [...sums].map(([k, s]) => [k, s.n, s.ns, s.most]).sort((p, q) => (q[2] as number) - (p[2] as number));
  const named = [{ name: "call" }, { name: "calls" }, { name: "time", unit: "ns" }, { name: "longest", unit: "ns" }];
  return { head: { columns: named, rows: made }, arrays: {} };
}
