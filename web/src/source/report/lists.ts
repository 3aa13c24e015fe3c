/** The list of events of a report, and what can be found in it. */
import type { Container } from "./container";

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
  return [at("id"), at("ts"), at("cpu"), text("task"), text("kind"), text("info"), at("utid")];
}

export function events(c: Container, offset: number, limit: number): { total: number; rows: unknown[][] } {
  const total = column(c, "ts").length;
  const rows: unknown[][] = [];
  for (let i = Math.max(0, offset); i < Math.min(offset + limit, total); i++) rows.push(row(c, i));
  return { total, rows };
}

export function locate(c: Container, ts: number): number {
  return bisect(column(c, "ts"), ts);
}

export function rowOf(c: Container, id: number): number {
  const ids = column(c, "id");
  for (let i = 0; i < ids.length; i++) if (ids[i] === id) return i;
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

export function find(c: Container, text: string, kind: string, from: number, forward: boolean): object {
  const ts = column(c, "ts");
  const by = forward ? 1 : -1;
  let i = forward ? bisect(ts, from + 1) : bisect(ts, from) - 1;
  for (; i >= 0 && i < ts.length; i += by) {
    if (!fits(c, i, text, kind)) continue;
    const [thing, at, , , name] = row(c, i);
    const track = c.threads.get(column(c, "utid")[i]!)?.track ?? "";
    return { ts: at, end: at, thing, kind: "event", name, track };
  }
  return { none: true };
}

export function count(c: Container, text: string, kind: string): number {
  let n = 0;
  for (let i = 0; i < column(c, "ts").length; i++) if (fits(c, i, text, kind)) n++;
  return n;
}
