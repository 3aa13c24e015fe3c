/** Where the ruler has its marks. */

export interface Ticks {
  step: number;
  at: number[];
}

/** The smallest of 1, 2, 5 x 10^k that is at least this. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const factor of [1, 2, 5]) if (power * factor >= least * 0.999999) return power * factor;
  return power * 10;
}

/** Marks at least `room` pixels apart between two times, over a width of pixels. */
export function ticks(start: number, end: number, width: number, room: number): Ticks {
  const step = niceStep(((end - start) / Math.max(width, 1)) * room);
  const at: number[] = [];
  for (let t = Math.ceil(start / step) * step; t <= end; t += step) at.push(t);
  return { step, at };
}
