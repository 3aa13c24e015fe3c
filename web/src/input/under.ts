/** What is under a point of the tracks. */
import type { App } from "../app";
import type { Picked } from "../state/state";
import { levelFor, type Place } from "../tiles/grid";
import { hit } from "../tiles/hit";
import { duration, short } from "../time/format";
import { span } from "../time/view";
import { FLAG, kindOf, STATE, STATE_NAMES } from "../tracks/kinds";
import { type Row, rowAt } from "../tracks/rows";

/** Pixels beside a thing that still count as on it. */
const NEAR = 3;
const NEAR_LOSS = 5;

export interface Under {
  row: Row;
  /** From the row's upper edge. */
  dy: number;
  picked: Picked | null;
  /** How many things are merged into what is seen there. */
  merged: number;
  value: number;
  flags: number;
  area: number | null;
  /** What is said of events that are missing there. */
  lost: string;
}

export function rowUnder(app: App, y: number): { row: Row; dy: number } | null {
  const { rows, pinned, scroll } = app.ui.get();
  const top = app.pinnedHeight;
  const [list, at] = y < top ? [pinned, y] : [rows, y - top + scroll];
  const row = list[rowAt(list, at)];
  return row && at >= row.y && at < row.y + row.height ? { row, dy: at - row.y } : null;
}

export const timeAt = (app: App, x: number): number => {
  const { view } = app.state.get();
  return view.start + (x / app.ui.get().width) * span(view);
};

export function under(app: App, x: number, y: number): Under | null {
  const found = rowUnder(app, y);
  if (!found?.row.track) return null;
  const { row, dy } = found;
  const track = row.track!;
  const kind = kindOf(track.kind);
  const { view } = app.state.get();
  const perPixel = span(view) / app.ui.get().width;
  const time = timeAt(app, x);
  const lost = track.kind === "cpu" ? app.losses.said(track.id, time, NEAR_LOSS * perPixel) : "";
  const none = { row, dy, picked: null, merged: 0, value: 0, flags: 0, area: null, lost };
  if (!kind.op) return none;
  const level = levelFor(perPixel / devicePixelRatio);
  const place: Place = { level, index: Math.floor(time / 2 ** level) };
  const tile = app.tiles.best(track.id, place).at(-1)?.tile;
  if (!tile) return none;
  if (kind.op === "area") return { ...none, area: valueAt(tile.arrays as Record<string, Float64Array>, time) };
  const depth = kind.style === "nested" ? Math.floor(dy / kind.height) : null;
  const there = hit(tile.arrays, time, depth, NEAR * perPixel);
  if (!there) return none;
  const { id, name, count, kind: flags, value } = tile.arrays;
  const picked: Picked = {
    track: track.id,
    kind: kind.detail,
    id: id?.[there.i] ?? 0,
    name: app.source.name(name?.[there.i] ?? 0),
    start: there.start,
    end: there.end,
    depth: depth ?? 0,
  };
  const merged = count?.[there.i] ?? 1;
  return { ...none, picked, merged, value: value?.[there.i] ?? 0, flags: flags?.[there.i] ?? 0 };
}

function valueAt(arrays: Record<string, Float64Array>, time: number): number | null {
  const { at, mean } = arrays;
  if (!at || !mean) return null;
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low ? mean[low - 1]! : null;
}

/** Two lines of what is there. */
export function describe(u: Under): { title: string; text: string } {
  const track = u.row.track!;
  if (u.lost) return { title: u.lost, text: `on ${track.name}` };
  if (u.area !== null) {
    const text = track.kind === "process" ? `${short(u.area)} CPUs` : `${short(u.area)} ${track.unit ?? ""}`;
    return { title: track.name, text };
  }
  if (!u.picked) return { title: "", text: "" };
  const { start, end, name } = u.picked;
  const long = end > start ? duration(end - start) : "";
  if (u.merged > 1) return { title: name ? `${name} and others` : "", text: `${u.merged} in ${long}: zoom in` };
  const parts = [long];
  if (track.kind === "thread") {
    const state = STATE_NAMES[u.flags & STATE.mask]!;
    const runs = (u.flags & STATE.mask) === STATE.running;
    const since = state === "runnable" && u.flags & FLAG.openStart ? " in the end, not known since when" : "";
    const cause = u.flags & FLAG.preempted ? " (preempted)" : u.flags & FLAG.woken ? " (wake-up latency)" : since;
    return { title: state + cause, text: `${long}${runs ? ` on CPU ${u.value}` : ""}` };
  }
  if (track.kind === "cpu" && u.flags & FLAG.preempted) parts.push("preempted at its end");
  if (u.flags & FLAG.error) parts.push("failed");
  return { title: name, text: parts.filter(Boolean).join(", ") };
}
