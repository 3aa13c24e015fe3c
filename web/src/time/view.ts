/** The range of time that is on the screen, and how it moves. Pure: each gives another one. */

export interface Range {
  start: number;
  end: number;
}

/** Closer than this there is nothing to see: times are whole nanoseconds. */
export const CLOSEST = 50;
/** How much may be seen beside the recording, as a part of what is seen. */
const BESIDE = 0.5;

export const span = (r: Range): number => r.end - r.start;

/** Held to what there is: never further out than the recording, never beside it by more than half of the screen. */
export function clamp(view: Range, all: Range): Range {
  const whole = Math.max(span(all), CLOSEST);
  const wide = Math.min(Math.max(span(view), CLOSEST), whole * 1.04);
  let start = view.start + (span(view) - wide) / 2;
  start = Math.min(Math.max(start, all.start - wide * BESIDE), all.end - wide * (1 - BESIDE));
  if (wide >= whole) start = all.start - (wide - whole) / 2;
  return { start, end: start + wide };
}

/** By a factor (below 1: closer) around a time that stays where it is. */
export function zoom(view: Range, factor: number, at: number): Range {
  return { start: at - (at - view.start) * factor, end: at + (view.end - at) * factor };
}

export function pan(view: Range, by: number): Range {
  return { start: view.start + by, end: view.end + by };
}

/** A range with a little room beside it. */
export function around(range: Range): Range {
  const room = Math.max(span(range) * 0.08, CLOSEST / 2);
  return { start: range.start - room, end: range.end + room };
}

/** Moved as little as needed to have a time on the screen, and then with some of its surroundings. */
export function reveal(view: Range, at: number, end = at): Range {
  if (at >= view.start && end <= view.end) return view;
  if (end - at > span(view) * 0.9) return around({ start: at, end });
  const middle = (at + end) / 2;
  return { start: middle - span(view) / 2, end: middle + span(view) / 2 };
}
