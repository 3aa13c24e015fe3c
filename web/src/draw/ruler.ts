/** The ruler, and the strip of the whole recording above it. */
import type { Selection } from "../state/state";
import { duration, seconds } from "../time/format";
import { niceStep, ticks } from "../time/ticks";
import { type Range, span } from "../time/view";
import type { Theme } from "./theme";

export interface Strip {
  width: number;
  height: number;
  ratio: number;
  theme: Theme;
  selection: Selection | null;
  a: number | null;
  b: number | null;
}

const flag = (c: CanvasRenderingContext2D, x: number, y: number, name: string, fill: string, ink: string): void => {
  c.fillStyle = fill;
  c.beginPath();
  c.roundRect(x - 7, y, 14, 14, 3);
  c.fill();
  c.fillStyle = ink;
  c.font = "700 10px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(name, x, y + 7.5);
};

export function drawRuler(c: CanvasRenderingContext2D, s: Strip, view: Range, lost: ArrayLike<number>): void {
  c.setTransform(s.ratio, 0, 0, s.ratio, 0, 0);
  c.clearRect(0, 0, s.width, s.height);
  const x = (t: number): number => ((t - view.start) / span(view)) * s.width;
  const { step, at } = ticks(view.start, view.end, s.width, 110);
  if (s.selection) {
    c.fillStyle = s.theme.accentFill;
    const [x0, x1] = [x(s.selection.start), x(s.selection.end)];
    c.fillRect(x0, 0, x1 - x0, s.height);
    const text = duration(span(s.selection));
    c.fillStyle = s.theme.accent;
    c.font = "600 10px system-ui, sans-serif";
    if (c.measureText(text).width < x1 - x0 - 4) {
      c.textAlign = "center";
      c.fillText(text, (Math.max(x0, 0) + Math.min(x1, s.width)) / 2, 8);
    }
  }
  c.fillStyle = s.theme.dim;
  const minor = niceStep(step / 5);
  for (let t = Math.ceil(view.start / minor) * minor; t <= view.end; t += minor)
    c.fillRect(Math.round(x(t)), s.height - 3, 1, 3);
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "alphabetic";
  c.textAlign = "left";
  for (const t of at) {
    const left = Math.round(x(t));
    c.fillStyle = s.theme.dim;
    c.fillRect(left, s.height - 7, 1, 7);
    c.fillStyle = s.theme.ink;
    c.fillText(`${seconds(t, step)} s`, left + 4, s.height - 6);
  }
  c.fillStyle = s.theme.lost;
  for (let i = 0; i < lost.length; i++) c.fillRect(Math.round(x(lost[i]!)) - 1, s.height - 5, 3, 5);
  if (s.a !== null) flag(c, x(s.a), 1, "A", s.theme.markerA, s.theme.ground);
  if (s.b !== null) flag(c, x(s.b), 1, "B", s.theme.markerB, s.theme.ground);
}

export interface Whole extends Strip {
  all: Range;
  view: Range;
  /** Heights from 0 to 1, one each pixel. */
  values: Float64Array;
}

export function drawOverview(c: CanvasRenderingContext2D, s: Whole): void {
  c.setTransform(s.ratio, 0, 0, s.ratio, 0, 0);
  c.clearRect(0, 0, s.width, s.height);
  const x = (t: number): number => ((t - s.all.start) / Math.max(span(s.all), 1)) * s.width;
  const { area, areaTop } = s.theme;
  const colour = (n: number, a: number): string => `rgb(${n & 255} ${(n >> 8) & 255} ${(n >> 16) & 255} / ${a})`;
  c.fillStyle = colour(area, 0.75);
  for (let i = 0; i < s.values.length; i++) {
    const h = s.values[i]! * (s.height - 4);
    if (h > 0) c.fillRect(i, s.height - Math.max(h, 1), 1, Math.max(h, 1));
  }
  if (s.selection) {
    c.fillStyle = s.theme.accentFill;
    c.fillRect(x(s.selection.start), 0, Math.max(2, x(s.selection.end) - x(s.selection.start)), s.height);
  }
  const [x0, x1] = [Math.max(0, x(s.view.start)), Math.min(s.width, x(s.view.end))];
  c.fillStyle = s.theme.id ? "rgb(90 101 119 / 0.22)" : "rgb(0 0 0 / 0.5)";
  c.fillRect(0, 0, x0, s.height);
  c.fillRect(x1, 0, s.width - x1, s.height);
  c.strokeStyle = colour(areaTop, 1);
  c.lineWidth = 1;
  c.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(3, Math.round(x1 - x0) - 1), s.height - 1);
  for (const [at, fill] of [
    [s.a, s.theme.markerA],
    [s.b, s.theme.markerB],
  ] as const) {
    if (at === null) continue;
    c.fillStyle = fill;
    c.fillRect(Math.round(x(at)) - 1, 0, 2, s.height);
  }
}
