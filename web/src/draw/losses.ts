/** Where events are missing: asked for when the view has come to rest, marked on the rows of CPUs and in the ruler. */
import type { App } from "../app";
import { count } from "../time/format";
import { type Range, span } from "../time/view";
import { GAP, type Row } from "../tracks/rows";
import type { Notch } from "./overlay";

const REST_MS = 120;
/** Losses that are closer than this in pixels are one mark. */
const APART = 3;
const MOST_WIDTH = 4096;

interface Lost {
  at: Float64Array;
  cpu: Int32Array;
  recording: Int32Array;
  /** Not a number where it is not told how many. */
  count: Float64Array;
}

/** The track that a loss is on. */
const trackOf = (l: Lost, i: number): string => `cpu:${l.recording[i] ?? 0}:${l.cpu[i]}`;

export class LossesOfView {
  private lost: Lost | null = null;
  private of: Range | null = null;
  private timer = 0;
  private control: AbortController | null = null;

  constructor(private readonly app: App) {}

  clear(): void {
    this.of = null;
  }

  /** Times of all of them, for the ruler. */
  times(): ArrayLike<number> {
    const { view } = this.app.state.get();
    const { live, losses } = { live: this.app.ui.get().live, losses: this.app.opened.losses };
    const any = live || losses.some((l) => l.severity === "error");
    if (any && (this.of?.start !== view.start || this.of?.end !== view.end)) this.later(view);
    return this.lost?.at ?? [];
  }

  /** Marks on the rows of their CPUs. */
  notches(placed: { row: Row; y: number }[], width: number, pinnedHeight: number): Notch[] {
    if (!this.times().length) return [];
    const { view } = this.app.state.get();
    const places = new Map<string, { y: number; height: number }[]>();
    for (const { row, y } of placed) {
      if (row.track?.kind !== "cpu") continue;
      const hidden = y < pinnedHeight && row !== this.app.ui.get().pinned.find((p) => p === row);
      if (!hidden) places.set(row.track.id, [...(places.get(row.track.id) ?? []), { y, height: row.height - GAP }]);
    }
    const found: Notch[] = [];
    for (let i = 0; i < this.lost!.at.length; i++) {
      const x = ((this.lost!.at[i]! - view.start) / span(view)) * width;
      for (const place of places.get(trackOf(this.lost!, i)) ?? []) found.push({ x, ...place });
    }
    return found;
  }

  /** What is said of the losses of a track near a time; empty where there are none. */
  said(track: string, time: number, near: number): string {
    let [sum, times, open] = [0, 0, false];
    for (let i = 0; this.lost && i < this.lost.at.length; i++) {
      if (Math.abs(this.lost.at[i]! - time) > near || trackOf(this.lost, i) !== track) continue;
      times++;
      if (Number.isNaN(this.lost.count[i]!)) open = true;
      else sum += this.lost.count[i]!;
    }
    if (!times) return "";
    return sum ? `${open ? "at least " : ""}${count(sum)} events lost here` : "events lost here, nobody knows how many";
  }

  private later(view: Range): void {
    this.of = view;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(view), REST_MS);
  }

  private async load(view: Range): Promise<void> {
    this.control?.abort();
    this.control = new AbortController();
    const width = Math.min(MOST_WIDTH, Math.max(1, Math.round(this.app.ui.get().width / APART)));
    const [start, end] = [Math.floor(view.start), Math.ceil(view.end) + 1];
    try {
      const { arrays } = await this.app.source.ask("lost", { start, end, width }, this.control.signal);
      this.lost = arrays.at ? (arrays as unknown as Lost) : null;
    } catch {
      return;
    }
    this.app.clock.ask();
  }
}
