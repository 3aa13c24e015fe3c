/** What lies over the tracks and moves with the pointer: selection, markers, the picked slice, arrows. */

import type { Selection } from "../state/state";
import { duration } from "../time/format";
import { type Range, span } from "../time/view";
import type { Theme } from "./theme";

export interface Arrow {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export interface Box {
  x0: number;
  x1: number;
  y: number;
  height: number;
}

/** A place where events are missing. */
export interface Notch {
  x: number;
  y: number;
  height: number;
}

export interface Over {
  view: Range;
  width: number;
  height: number;
  ratio: number;
  theme: Theme;
  selection: Selection | null;
  /** Rows of the selection, where it is not of all. */
  boxes: Box[];
  a: number | null;
  b: number | null;
  cursor: number | null;
  hover: number | null;
  picked: Box | null;
  arrows: Arrow[];
  notches: Notch[];
}

export function drawOverlay(c: CanvasRenderingContext2D, o: Over): void {
  c.setTransform(o.ratio, 0, 0, o.ratio, 0, 0);
  c.clearRect(0, 0, o.width, o.height);
  const x = (t: number): number => ((t - o.view.start) / span(o.view)) * o.width;
  if (o.selection) drawSelection(c, o, x(o.selection.start), x(o.selection.end));
  if (o.hover !== null) line(c, x(o.hover), o.height, o.theme.dim, [2, 3]);
  if (o.cursor !== null) line(c, x(o.cursor), o.height, o.theme.accent, []);
  drawNotches(c, o);
  drawArrows(c, o);
  if (o.picked) {
    c.strokeStyle = o.theme.pick;
    c.lineWidth = 2;
    const left = Math.max(o.picked.x0, -4);
    c.strokeRect(left, o.picked.y, Math.max(2, Math.min(o.picked.x1, o.width + 4) - left), o.picked.height);
  }
  if (o.a !== null && o.b !== null) drawDelta(c, o, x(o.a), x(o.b));
  if (o.a !== null) line(c, x(o.a), o.height, o.theme.markerA, []);
  if (o.b !== null) line(c, x(o.b), o.height, o.theme.markerB, []);
}

function line(c: CanvasRenderingContext2D, x: number, height: number, colour: string, dash: number[]): void {
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.setLineDash(dash);
  c.beginPath();
  c.moveTo(Math.round(x) + 0.5, 0);
  c.lineTo(Math.round(x) + 0.5, height);
  c.stroke();
  c.setLineDash([]);
}

function drawSelection(c: CanvasRenderingContext2D, o: Over, x0: number, x1: number): void {
  c.fillStyle = o.theme.accentFill;
  if (o.selection!.tracks) {
    for (const box of o.boxes) c.fillRect(x0, box.y, x1 - x0, box.height);
  } else c.fillRect(x0, 0, x1 - x0, o.height);
  line(c, x0, o.height, o.theme.accent, [4, 2]);
  line(c, x1, o.height, o.theme.accent, [4, 2]);
}

function drawDelta(c: CanvasRenderingContext2D, o: Over, a: number, b: number): void {
  const [left, right] = a < b ? [a, b] : [b, a];
  const y = o.height - 12;
  c.strokeStyle = o.theme.dim;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(left, y);
  c.lineTo(right, y);
  c.stroke();
  const text = `B − A = ${duration(o.b! - o.a!)}`;
  c.font = "600 11px system-ui, sans-serif";
  const wide = c.measureText(text).width + 10;
  const middle = Math.min(Math.max((left + right) / 2, wide / 2 + 2), o.width - wide / 2 - 2);
  c.fillStyle = o.theme.panel;
  c.fillRect(middle - wide / 2, y - 8, wide, 16);
  c.fillStyle = o.theme.ink;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(text, middle, y);
}

/** A red line through the row, with a head above it. */
function drawNotches(c: CanvasRenderingContext2D, o: Over): void {
  c.fillStyle = o.theme.lost;
  for (const { x, y, height } of o.notches) {
    c.fillRect(Math.round(x) - 1, y, 2, height);
    c.beginPath();
    c.moveTo(x - 5, y);
    c.lineTo(x + 5, y);
    c.lineTo(x, y + 7);
    c.fill();
  }
}

/** From the one who woke up to the one who was woken, a curve with a head at the end. */
function drawArrows(c: CanvasRenderingContext2D, o: Over): void {
  c.strokeStyle = o.theme.arrow;
  c.fillStyle = o.theme.arrow;
  c.lineWidth = 1.25;
  for (const { x0, y0, x1, y1 } of o.arrows) {
    const bend = Math.min(40, Math.max(8, Math.abs(x1 - x0) / 2));
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 6, y1 - 3.5);
    c.lineTo(x1 - 6, y1 + 3.5);
    c.fill();
    c.beginPath();
    c.arc(x0, y0, 2, 0, 7);
    c.fill();
  }
}
