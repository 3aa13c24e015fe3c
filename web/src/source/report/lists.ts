/** The list of events of a report, and what can be found in it. */
import type { Container } from "./container";
import { picked } from "./filter";

/** The first place in a sorted array whose value is not below one. */
export function bisect(array: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NONE = new Float64Array(0);
const column = (c: Container, name: string): ArrayLike<number> => c.arrays[`ev.${name}`] ?? NONE;

export function row(c: Container, i: number): unknown[] {
  const text = (name: string): string => c.names.get(column(c, name)[i]!) ?? "";
  const at = (name: string): number => column(c, name)[i] ?? 0;
  const flags = c.arrays["ev.flags"] ? [text("flags")] : [];
  return [at("id"), at("ts"), at("cpu"), text("task"), text("kind"), text("info"), at("utid"), ...flags];
}

/** Row of the answer, CPU, how many, and when. */
type Lost = [row: number, cpu: number, count: number | null, ts: number];

export function events(
  c: Container,
  offset: number,
  limit: number,
  filter?: string,
): { total: number; rows: unknown[][]; lost: Lost[] } {
  const places = picked(c, filter);
  const total = places?.length ?? column(c, "ts").length;
  const [first, last] = [Math.max(0, offset), Math.min(offset + limit, total)];
  const rows: unknown[][] = [];
  for (let i = first; i < last; i++) rows.push(row(c, places ? places[i]! : i));
  const before = first && rows.length ? (column(c, "ts")[places ? places[first - 1]! : first - 1] ?? 0) : -Infinity;
  return { total, rows, lost: lostBefore(c, rows, before, last >= total) };
}

/** What is missing before each row; behind the last one of all, before that. */
function lostBefore(c: Container, rows: unknown[][], before: number, all: boolean): Lost[] {
  const { "lost.at": at, "lost.cpu": cpu, "lost.count": counts } = c.arrays;
  if (!at || !rows.length) return [];
  const times = rows.map((r) => r[1] as number);
  const found: Lost[] = [];
  for (let i = bisect(at, before); i < at.length; i++) {
    const ts = at[i]!;
    if (ts <= before) continue;
    if (!all && ts > times.at(-1)!) break;
    const n = counts?.[i] ?? Number.NaN;
    found.push([Math.min(bisect(times, ts), rows.length - 1), cpu?.[i] ?? -1, Number.isNaN(n) ? null : n, ts]);
  }
  return found;
}

export function locate(c: Container, ts: number, filter?: string): number {
  const at = bisect(column(c, "ts"), ts);
  const places = picked(c, filter);
  return places ? bisect(places, at) : at;
}

export function rowOf(c: Container, id: number, filter?: string): number {
  const ids = column(c, "id");
  const places = picked(c, filter);
  for (let i = 0; i < ids.length; i++) {
    if (ids[i] !== id) continue;
    return places ? places.indexOf(i) : i;
  }
  return -1;
}

/** Whether an event is meant by a text, of one kind of search. */
function fits(c: Container, i: number, text: string, kind: string): boolean {
  const has = (name: string): boolean =>
    (c.names.get(column(c, name)[i]!) ?? "").toLowerCase().includes(text.toLowerCase());
  if (kind === "event") return has("kind");
  if (kind === "task") return has("task");
  return has("kind") || has("task") || has("info");
}

export function find(
  c: Container,
  text: string,
  kind: string,
  from: number,
  forward: boolean,
  filter?: string,
): object {
  const ts = column(c, "ts");
  const places = picked(c, filter);
  const by = forward ? 1 : -1;
  const whole = forward ? bisect(ts, from + 1) : bisect(ts, from);
  let at = (places ? bisect(places, whole) : whole) - (forward ? 0 : 1);
  for (; at >= 0 && at < (places ?? ts).length; at += by) {
    const i = places ? places[at]! : at;
    if (!fits(c, i, text, kind)) continue;
    const [thing, time, , , name] = row(c, i);
    const track = c.threads.get(column(c, "utid")[i]!)?.track ?? "";
    return { ts: time, end: time, thing, kind: "event", name, track };
  }
  return { none: true };
}

export function count(c: Container, text: string, kind: string, filter?: string): number {
  const places = picked(c, filter);
  let n = 0;
  for (let i = 0; i < (places ?? column(c, "ts")).length; i++) if (fits(c, places?.[i] ?? i, text, kind)) n++;
  return n;
}
