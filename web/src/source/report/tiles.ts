/** Tiles out of a report: from the coarsest level that is fine enough, what lies in the range. */
import type { Typed } from "../types";
import type { Container } from "./container";

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

export function slices(c: Container, track: string, start: number, end: number, width: number): Record<string, Typed> {
  const all = level(c, track, (end - start) / width);
  if (!all?.start || !all.end) return {};
  const rows: number[] = [];
  for (let i = 0; i < all.start.length; i++) if (all.start[i]! < end && all.end[i]! >= start) rows.push(i);
  return take(all, rows);
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
