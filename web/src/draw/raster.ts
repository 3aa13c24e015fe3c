/** Slices and areas as pixels. Pure: numbers in, numbers out. */
import type { Typed } from "../source/types";
import type { Range } from "../time/view";

/** Pixels of the device: pixel x shows the time start + x * perPixel. */
export interface Scale {
  start: number;
  perPixel: number;
  width: number;
}

export const xOf = (scale: Scale, time: number): number => (time - scale.start) / scale.perPixel;

export interface Slices {
  start: Float64Array;
  end: Float64Array;
  depth?: Typed | undefined;
  count?: Typed | undefined;
  fill?: Typed | undefined;
}

/** Told of each slice that is wide enough for a text: its place in the arrays, and its pixels. */
export type Wide = (i: number, x0: number, x1: number) => void;

/** Less than a pixel of something is still to be seen: this much of it. */
const LEAST = 0.3;

const put = (out: Uint32Array, at: number, colour: number, opacity: number): void => {
  const alpha = ((colour >>> 24) * opacity) & 255;
  // of what shares a pixel, the stronger one wins
  if (alpha >= out[at]! >>> 24) out[at] = ((colour & 0xffffff) | (alpha << 24)) >>> 0;
};

/**
 * Slices of one tile, as far as they are inside of `clip`, into rows of pixels. `lanes[d]` is the place of the first
 * pixel of what is d deep, -1 where that is not drawn.
 */
export function slices(
  out: Uint32Array,
  lanes: ArrayLike<number>,
  scale: Scale,
  clip: Range,
  tile: Slices,
  colours: Uint32Array,
  widest: number,
  wide: Wide,
): void {
  const { start, end, depth, count, fill } = tile;
  const low = Math.max(0, xOf(scale, clip.start));
  const high = Math.min(scale.width, xOf(scale, clip.end));
  for (let i = 0; i < start.length; i++) {
    const from = (start[i]! - scale.start) / scale.perPixel;
    const to = (end[i]! - scale.start) / scale.perPixel;
    const x0 = Math.max(from, low);
    const x1 = Math.min(to, high);
    if (x1 < x0 || x0 >= high || (x1 <= low && to < low)) continue;
    const base = lanes[depth ? depth[i]! : 0] ?? -1;
    const colour = colours[i]!;
    if (base < 0 || colour === 0) continue;
    const merged = count !== undefined && count[i]! > 1;
    const first = x0 | 0;
    if (merged || x1 - x0 < 1) {
      const part = merged && fill ? fill[i]! / 255 : 1;
      const opacity = Math.max(LEAST, Math.sqrt(part * Math.min(1, x1 - x0 || LEAST)));
      const last = Math.max(first + 1, Math.ceil(x1));
      for (let x = first; x < last && x < scale.width; x++) put(out, base + x, colour, opacity);
      continue;
    }
    // of neighbours of one colour the border must be seen: a wide slice ends a pixel early
    const last = Math.max(first + 1, Math.round(x1) - (x1 - x0 >= 4 && to < high ? 1 : 0));
    out.fill(colour, base + first, base + Math.min(last, scale.width));
    if (to - from >= widest && x1 - x0 > 1) wide(i, Math.max(from, 0), Math.min(to, scale.width));
  }
}

export interface Area {
  at: Float64Array;
  low?: Float64Array | undefined;
  high: Float64Array;
  mean: Float64Array;
}

/** Which values belong to each pixel: the highest and the mean of those that are within it, else the last before. */
export function columns(scale: Scale, clip: Range, area: Area, high: Float64Array, mean: Float64Array): void {
  const first = Math.max(0, Math.ceil(xOf(scale, clip.start)));
  const last = Math.min(scale.width, Math.ceil(xOf(scale, clip.end)));
  const { at } = area;
  let i = 0;
  for (let x = first; x < last; x++) {
    const end = scale.start + (x + 1) * scale.perPixel;
    let top = Number.NaN;
    let sum = 0;
    let n = 0;
    while (i < at.length && at[i]! < end) {
      if (at[i]! >= end - scale.perPixel || i + 1 === at.length || at[i + 1]! >= end) {
        if (!(area.high[i]! <= top)) top = area.high[i]!;
        sum += area.mean[i]!;
        n++;
      }
      if (i + 1 < at.length && at[i + 1]! < end) i++;
      else break;
    }
    if (n) {
      high[x] = top;
      mean[x] = sum / n;
    }
  }
}

/**
 * Columns as an area: filled between 0 and the mean, with a paler part up to the highest. What is below 0 hangs down from
 * it. Nothing is drawn outside of the row's own pixels.
 */
export function area(
  out: Uint32Array,
  base: number,
  width: number,
  rows: number,
  values: { high: Float64Array; mean: Float64Array },
  bounds: [least: number, most: number],
  colours: { fill: number; top: number; pale: number },
): void {
  const [least, most] = bounds;
  const scale = rows / (most - least || 1);
  const row = (value: number): number => Math.min(rows, Math.max(0, Math.round((value - least) * scale)));
  const zero = row(0);
  for (let x = 0; x < width; x++) {
    const high = values.high[x]!;
    if (Number.isNaN(high)) continue;
    const peak = high > 0 ? Math.min(rows, Math.max(zero + 1, row(high))) : row(high);
    const body = Math.min(peak, row(values.mean[x]!));
    const edge = body < zero ? body + 1 : body;
    let at = base + (rows - Math.max(peak, zero)) * width + x;
    for (let y = Math.max(peak, zero); y > Math.min(body, zero); y--, at += width)
      out[at] = y === edge ? colours.top : y > Math.max(body, zero) ? colours.pale : colours.fill;
  }
}

/** Columns as a strip: the more, the stronger. */
export function density(
  out: Uint32Array,
  base: number,
  width: number,
  high: Float64Array,
  most: number,
  colour: number,
): void {
  for (let x = 0; x < width; x++) {
    const value = high[x]!;
    if (!(value > 0)) continue;
    put(out, base + x, colour, 0.25 + 0.75 * Math.min(1, Math.sqrt(value / (most || 1))));
  }
}
