/** Tiles out of a report: from the coarsest level that is fine enough, what lies in the range. */

import { STATE } from "../../tracks/kinds";
import type { Typed } from "../types";
import type { Container } from "./container";
import type { May } from "./filter";

const SLICES = ["start", "end", "depth", "name", "value", "kind", "count", "fill", "id"];
const AREA = ["at", "low", "high", "mean"];

/** Arrays of the level of a track for a scale; null where the track has none. */
export function level(c: Container, track: string, pixel: number): Record<string, Typed> | null {
  const found = c.tiles[track];
  const levels = found?.levels ?? [];
  // the finest comes first
  const chosen = [...levels].reverse().find((l) => l.pixel <= pixel) ?? levels[0];
  if (!found || !chosen) return null;
  const arrays: Record<string, Typed> = {};
  for (const name of found.kind === "area" ? AREA : SLICES) {
    const array = c.arrays[`${chosen.key}.${name}`];
    if (array) arrays[name] = array;
  }
  return arrays;
}

function take(arrays: Record<string, Typed>, rows: number[]): Record<string, Typed> {
  return Object.fromEntries(
    Object.entries(arrays).map(([name, array]) => {
      const made = new (array.constructor as new (n: number) => Typed)(rows.length);
      for (let i = 0; i < rows.length; i++) made[i] = array[rows[i]!]!;
      return [name, made];
    }),
  );
}

export function slices(
  c: Container,
  track: string,
  start: number,
  end: number,
  width: number,
  holds: May | null = null,
): Record<string, Typed> {
  const all = level(c, track, (end - start) / width);
  if (!all?.start || !all.end) return {};
  const fits = holds ? fitting(c, track, all, holds) : () => true;
  const rows: number[] = [];
  for (let i = 0; i < all.start.length; i++) if (all.start[i]! < end && all.end[i]! >= start && fits(i)) rows.push(i);
  return take(all, rows);
}

/** Which slices a filter leaves: of CPUs by who runs, of threads and what is below them by the thread; others all. */
function fitting(c: Container, id: string, all: Record<string, Typed>, holds: May): (i: number) => boolean {
  const track = c.tracks.find((t) => t.id === id);
  if (track?.kind === "cpu") return (i) => holds(all.value?.[i] ?? -1, track.cpu ?? -1);
  const thread = track?.kind === "thread" ? track : c.tracks.find((t) => t.id === track?.parent && t.kind === "thread");
  if (thread?.utid === undefined) return () => true;
  const runs = (i: number): boolean => track === thread && ((all.kind?.[i] ?? 0) & STATE.mask) === STATE.running;
  return (i) => holds(thread.utid!, runs(i) ? (all.value?.[i] ?? -1) : -1);
}

export function area(c: Container, track: string, start: number, end: number, width: number): Record<string, Typed> {
  const all = level(c, track, (end - start) / width);
  if (!all?.at) return {};
  const rows: number[] = [];
  for (let i = 0; i < all.at.length; i++) {
    // the value before the range holds until the first one within it
    if (all.at[i]! < end && (all.at[i]! >= start || (all.at[i + 1] ?? end) > start)) rows.push(i);
  }
  return take(all, rows);
}
