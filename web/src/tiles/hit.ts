/** Which slice of a tile is at a time. Pure. */
import type { Typed } from "../source/types";

export interface Hit {
  i: number;
  start: number;
  end: number;
}

/** The shortest slice of a lane within `near` of a time: what looks like being under the pointer. */
export function hit(arrays: Record<string, Typed>, at: number, depth: number | null, near: number): Hit | null {
  const { start, end, depth: depths } = arrays;
  let found: Hit | null = null;
  let best = Number.POSITIVE_INFINITY;
  if (!start || !end) return null;
  for (let i = 0; i < start.length; i++) {
    if (depth !== null && depths && depths[i] !== depth) continue;
    const away = Math.max(start[i]! - at, at - end[i]!, 0);
    if (away > near) continue;
    const rank = away * 1e6 + (end[i]! - start[i]!);
    if (rank < best) {
      best = rank;
      found = { i, start: start[i]!, end: end[i]! };
    }
  }
  return found;
}
