/**
 * A tree of frames as boxes: the root at the top, children below their parent, in order of their weight. Pure.
 *
 * The tree comes as arrays, parents before their children: parent[i] < i, -1 for roots.
 */

export interface Flame {
  parent: Int32Array;
  frame: Uint32Array;
  self: Float64Array;
  total: Float64Array;
}

export interface FlameBox {
  node: number;
  depth: number;
  /** From 0 to 1. */
  x0: number;
  x1: number;
}

/** Boxes of what is below a node (-1: of everything), and of what is above it, at full width. */
export function boxes(f: Flame, zoomed: number, least: number): FlameBox[] {
  const children: number[][] = Array.from({ length: f.parent.length }, () => []);
  const roots: number[] = [];
  for (let i = 0; i < f.parent.length; i++) {
    const p = f.parent[i]!;
    if (p >= 0 && p < i) children[p]!.push(i);
    else roots.push(i);
  }
  const heavier = (a: number, b: number): number => f.total[b]! - f.total[a]!;
  const found: FlameBox[] = [];
  const above: number[] = [];
  for (let i = zoomed; i >= 0; i = f.parent[i]!) above.unshift(i);
  above.slice(0, -1).forEach((node, depth) => {
    found.push({ node, depth, x0: 0, x1: 1 });
  });
  const first = zoomed >= 0 ? [zoomed] : roots.sort(heavier);
  const whole = first.reduce((sum, i) => sum + f.total[i]!, 0) || 1;
  const open: FlameBox[] = [];
  let x = 0;
  for (const node of first) {
    const wide = f.total[node]! / whole;
    open.push({ node, depth: Math.max(0, above.length - 1), x0: x, x1: x + wide });
    x += wide;
  }
  // a stack of our own: recordings may be deeper than a browser's
  while (open.length) {
    const box = open.pop()!;
    if (box.x1 - box.x0 < least) continue;
    found.push(box);
    let left = box.x0;
    const unit = (box.x1 - box.x0) / (f.total[box.node]! || 1);
    for (const child of children[box.node]!.sort(heavier)) {
      const wide = f.total[child]! * unit;
      open.push({ node: child, depth: box.depth + 1, x0: left, x1: left + wide });
      left += wide;
    }
  }
  return found;
}

export const wholeOf = (f: Flame): number => {
  let sum = 0;
  for (let i = 0; i < f.parent.length; i++) if (f.parent[i]! < 0) sum += f.total[i]!;
  return sum;
};

/** The names from the root to a node. */
export function pathOf(f: Flame, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i >= 0; i = f.parent[i]!) path.unshift(i);
  return path;
}
