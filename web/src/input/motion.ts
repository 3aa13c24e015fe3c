/** Movement over time: held keys, and views that glide to where they were sent. */
import type { App } from "../app";
import { clamp, pan, type Range, span, zoom } from "../time/view";

export type Direction = "left" | "right" | "in" | "out";

/** Parts of the screen a second, and factors a second. */
const PAN_SPEED = 1.1;
const ZOOM_SPEED = 6;
const GLIDE_MS = 170;
const LONGEST_FRAME_MS = 50;

const still = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Motion {
  private readonly held = new Set<Direction>();
  private before = 0;
  private glide: { from: Range; to: Range; since: number } | null = null;
  /** Where the pointer is, as a time: zooming by keys goes there. */
  pointer: number | null = null;

  constructor(private readonly app: App) {}

  hold(direction: Direction): void {
    if (this.held.has(direction)) return;
    if (!this.held.size) this.before = 0;
    this.glide = null;
    this.held.add(direction);
    this.app.clock.ask();
  }

  release(direction?: Direction): void {
    if (direction) this.held.delete(direction);
    else this.held.clear();
  }

  /** Goes to a range, gliding unless that is not wanted. */
  go(to: Range): void {
    const target = clamp(to, this.app.all);
    if (still()) this.app.look(target);
    else {
      this.glide = { from: this.app.state.get().view, to: target, since: 0 };
      this.app.clock.ask();
    }
  }

  /** A step by hand: ends what glides. */
  look(view: Range): void {
    this.glide = null;
    this.app.look(view);
  }

  /** Moves on to the time of a frame; whether there is more to come. */
  step(now: number): boolean {
    if (this.glide) return this.gliding(now);
    if (!this.held.size) return false;
    const seconds = Math.min(LONGEST_FRAME_MS, this.before ? now - this.before : 16) / 1000;
    this.before = now;
    let { view } = this.app.state.get();
    const inside = this.pointer !== null && this.pointer > view.start && this.pointer < view.end;
    const centre = inside ? this.pointer! : (view.start + view.end) / 2;
    const shift = span(view) * PAN_SPEED * seconds;
    if (this.held.has("left")) view = pan(view, -shift);
    if (this.held.has("right")) view = pan(view, shift);
    if (this.held.has("in")) view = zoom(view, ZOOM_SPEED ** -seconds, centre);
    if (this.held.has("out")) view = zoom(view, ZOOM_SPEED ** seconds, centre);
    this.app.look(view);
    return true;
  }

  private gliding(now: number): boolean {
    const g = this.glide!;
    if (!g.since) g.since = now;
    const part = Math.min(1, (now - g.since) / GLIDE_MS);
    const eased = 1 - (1 - part) ** 3;
    // widths change by factors, so that closing in looks even
    const wide = span(g.from) * (span(g.to) / span(g.from)) ** eased;
    const share = span(g.from) === span(g.to) ? eased : (wide - span(g.from)) / (span(g.to) - span(g.from));
    const start = g.from.start + (g.to.start - g.from.start) * share;
    this.app.look(part === 1 ? g.to : { start, end: start + wide });
    if (part === 1) this.glide = null;
    return part < 1;
  }
}
