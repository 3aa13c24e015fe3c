/** Rows of the screen out of the tree: who is open, how high each is, and where. */
import type { Track } from "../source/types";
import { kindOf } from "./kinds";
import type { Node, Tree } from "./tree";

export interface Row {
  /** null while it is on its way. */
  track: Track | null;
  node: Node | null;
  depth: number;
  y: number;
  height: number;
  pinned: boolean;
  open: boolean;
}

export const GAP = 2;
const MOST_LANES = 24;
const UNKNOWN_HEIGHT = 22;

export function heightOf(track: Track | null, lanes = track?.lanes ?? 1): number {
  if (!track) return UNKNOWN_HEIGHT + GAP;
  const kind = kindOf(track.kind);
  const rows = kind.style === "nested" ? Math.min(Math.max(lanes, 1), MOST_LANES) : 1;
  return kind.height * rows + (rows > 1 ? 2 : 0) + GAP;
}

/** Whether a track with children shows them: as was chosen, else as it came. */
export function isOpen(track: Track, chosen: Record<string, boolean>): boolean {
  return track.children > 0 && (chosen[track.id] ?? track.open ?? false);
}

/** The rows that scroll, from top to bottom. Asks for the children of open groups that are not there. */
export function rowsOf(tree: Tree, chosen: Record<string, boolean>, lanes: (id: string) => number | undefined): Row[] {
  const rows: Row[] = [];
  let y = 0;
  const walk = (node: Node): void => {
    if (!node.children) {
      void tree.load(node, 0);
      return;
    }
    for (const child of node.children) {
      const { track } = child;
      const open = track !== null && isOpen(track, chosen);
      const height = heightOf(track, track ? lanes(track.id) : undefined);
      rows.push({ track, node: child, depth: child.depth, y, height, pinned: false, open });
      y += height;
      if (open) walk(child);
    }
  };
  walk(tree.root);
  return rows;
}

/** The rows above, that do not scroll. */
export function pinnedRows(tree: Tree, pins: string[], lanes: (id: string) => number | undefined): Row[] {
  let y = 0;
  const rows: Row[] = [];
  for (const id of pins) {
    const track = tree.track(id);
    if (!track) continue;
    const height = heightOf(track, lanes(id));
    rows.push({ track, node: null, depth: 0, y, height, pinned: true, open: false });
    y += height;
  }
  return rows;
}

/** Which row is at a height: the last one that begins above it. */
export function rowAt(rows: Row[], y: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle]!.y <= y) low = middle;
    else high = middle - 1;
  }
  return rows.length ? low : -1;
}

export const totalHeight = (rows: Row[]): number => {
  const last = rows.at(-1);
  return last ? last.y + last.height : 0;
};
