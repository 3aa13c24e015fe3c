/** Wake-ups of the view: asked for when it has come to rest, drawn between the rows that are on the screen. */
import type { App } from "../app";
import type { Range } from "../time/view";
import { span } from "../time/view";
import type { Row } from "../tracks/rows";
import { GAP } from "../tracks/rows";
import type { Arrow } from "./overlay";

const REST_MS = 120;
export const MOST = 400;

interface Wakeups {
  at: Float64Array;
  from: Uint32Array;
  from_cpu: Int32Array;
  to: Uint32Array;
  to_cpu: Int32Array;
  run: Float64Array;
}

/** Middles of rows by what they are of: threads by utid, CPUs by number (and recording). */
function places(rows: Row[], offset: number, into: Map<string, number>): void {
  for (const row of rows) {
    const t = row.track;
    if (t?.kind === "thread") into.set(`t${t.utid}`, row.y + offset + (row.height - GAP) / 2);
    if (t?.kind === "cpu") into.set(`c${t.cpu}`, row.y + offset + (row.height - GAP) / 2);
  }
}

/** Arrows in pixels. Pure. Between threads where both are shown, and between CPUs where these are. */
export function layout(w: Wakeups, view: Range, width: number, at: Map<string, number>): Arrow[] {
  const x = (t: number): number => ((t - view.start) / span(view)) * width;
  const found: Arrow[] = [];
  for (let i = 0; i < w.at.length; i++) {
    const end = Number.isFinite(w.run[i]!) ? w.run[i]! : w.at[i]!;
    for (const [from, to] of [
      [`t${w.from[i]}`, `t${w.to[i]}`],
      [`c${w.from_cpu[i]}`, `c${w.to_cpu[i]}`],
    ] as const) {
      const [y0, y1] = [at.get(from), at.get(to)];
      if (y0 !== undefined && y1 !== undefined && y0 !== y1) found.push({ x0: x(w.at[i]!), y0, x1: x(end), y1 });
    }
  }
  return found;
}

export class ArrowsOfView {
  private wakeups: Wakeups | null = null;
  private of: Range | null = null;
  private timer = 0;
  private control: AbortController | null = null;
  /** How many there are, where they are too many to draw. */
  many = 0;

  constructor(private readonly app: App) {}

  clear(): void {
    this.of = null;
    this.wakeups = null;
  }

  current(rows: Row[], pinned: Row[], scroll: number, pinnedHeight: number, width: number): Arrow[] {
    const { view, arrows } = this.app.state.get();
    if (!arrows) return [];
    if (this.of?.start !== view.start || this.of?.end !== view.end) this.later(view);
    if (!this.wakeups) return [];
    const at = new Map<string, number>();
    places(rows, pinnedHeight - scroll, at);
    places(pinned, 0, at);
    return layout(this.wakeups, view, width, at);
  }

  private later(view: Range): void {
    this.of = view;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(view), REST_MS);
  }

  private async load(view: Range): Promise<void> {
    this.control?.abort();
    this.control = new AbortController();
    const filter = this.app.tiles.filter;
    try {
      const asked = { ...view, limit: MOST, ...(filter && { filter }) };
      const { head, arrays } = await this.app.source.ask<{ many?: number }>("arrows", asked, this.control.signal);
      this.many = head.many ?? 0;
      this.wakeups = arrays.at ? (arrays as unknown as Wakeups) : null;
    } catch {
      return;
    }
    this.app.clock.ask();
  }
}
