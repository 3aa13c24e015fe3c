/**
 * The grid of tiles: at level k, tile i covers [i * 2^k, (i + 1) * 2^k) nanoseconds. A view is drawn from tiles that are
 * at most TILE pixels wide and more than half of that: so a tile is asked for once while one pans, and while one
 * zooms until the scale has doubled.
 */
import type { Range } from "../time/view";

export const TILE = 1024;
const LOWEST = 6;

export interface Place {
  level: number;
  index: number;
}

/** The level for a scale in nanoseconds a pixel (of the device). */
export function levelFor(nsPerPixel: number): number {
  return Math.max(LOWEST, Math.floor(Math.log2(nsPerPixel * TILE)));
}

export function rangeOf(p: Place): Range {
  const wide = 2 ** p.level;
  return { start: p.index * wide, end: (p.index + 1) * wide };
}

/** Tiles of a level that a range touches, of those that the whole has something in. */
export function covering(range: Range, level: number, all: Range): Place[] {
  const wide = 2 ** level;
  const first = Math.floor(Math.max(range.start, all.start) / wide);
  const last = Math.floor(Math.min(range.end, all.end) / wide);
  const places: Place[] = [];
  for (let index = first; index <= last; index++) places.push({ level, index });
  return places;
}

/** The tile that covers this one, some levels coarser. */
export function coarser(p: Place, levels: number): Place {
  return { level: p.level + levels, index: Math.floor(p.index / 2 ** levels) };
}

/** The two tiles of the next finer level that make up this one. */
export function finer(p: Place): [Place, Place] {
  return [
    { level: p.level - 1, index: p.index * 2 },
    { level: p.level - 1, index: p.index * 2 + 1 },
  ];
}
