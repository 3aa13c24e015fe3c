/** What one can do with the page, whoever asks for it: a key, the palette, a button. */
import type { App } from "../app";
import { Refused, type Track } from "../source/types";
import type { Picked, Tab } from "../state/state";
import { count, duration, exact } from "../time/format";
import { around, reveal, span } from "../time/view";
import { kindOf } from "../tracks/kinds";
import { isOpen } from "../tracks/rows";

export const why = (e: unknown): string => (e instanceof Error ? e.message : String(e));

/** Refusals are told; calling something off is none. */
export function tell(app: App, e: unknown): void {
  if (e instanceof DOMException && e.name === "AbortError") return;
  app.say(e instanceof Refused && e.hint ? `${e.message}: ${e.hint}` : why(e));
}

export function zoomBy(app: App, factor: number): void {
  const { view } = app.state.get();
  const middle = (view.start + view.end) / 2;
  const half = (span(view) * factor) / 2;
  app.motion.go({ start: middle - half, end: middle + half });
}

export function fit(app: App): void {
  const { selection, picked } = app.state.get();
  const range = selection ?? picked;
  if (range && span(range) > 0) app.motion.go(around(range));
  else app.motion.go(app.all);
}

export function mark(app: App, which: "a" | "b"): void {
  const { cursor, picked, view } = app.state.get();
  const at = app.motion.pointer ?? cursor ?? picked?.start ?? (view.start + view.end) / 2;
  app.state.set({ [which]: at });
  const { a, b } = app.state.get();
  const delta = a !== null && b !== null ? `, B − A is ${duration(b - a)}` : "";
  app.say(`marker ${which.toUpperCase()} at ${exact(at)}${delta}`);
}

export function selectMarked(app: App): void {
  const { a, b } = app.state.get();
  if (a === null || b === null) app.say("set both markers first: keys [ and ]");
  else app.state.set({ selection: { start: Math.min(a, b), end: Math.max(a, b), tracks: null } });
}

/** What Escape does: one thing after the other, the nearest first. */
export function back(app: App): void {
  const { selection, picked, cursor, a, b } = app.state.get();
  if (app.ui.get().dialog) app.ui.set({ dialog: null });
  else if (selection) app.state.set({ selection: null });
  else if (picked || cursor !== null) app.state.set({ picked: null, cursor: null });
  else if (a !== null || b !== null) app.state.set({ a: null, b: null });
}

export function toggle(app: App, track: Track): void {
  const { open } = app.state.get();
  const to = !isOpen(track, open);
  app.state.set({ open: { ...open, [track.id]: to } });
  app.say(`${track.name} ${to ? "opened" : "closed"}`);
}

export function collapseAll(app: App): void {
  const open: Record<string, boolean> = {};
  for (const row of app.ui.get().rows) if (row.track?.children) open[row.track.id] = false;
  app.state.set({ open: { ...app.state.get().open, ...open } });
}

export function pin(app: App, id: string): void {
  const { pins } = app.state.get();
  const there = pins.includes(id);
  app.state.set({ pins: there ? pins.filter((p) => p !== id) : [...pins, id] });
  app.say(`${app.tree.track(id)?.name ?? "track"} ${there ? "unpinned" : "pinned"}`);
}

export function activeTrack(app: App): Track | null {
  const { active } = app.ui.get();
  return active ? (app.tree.track(active) ?? null) : null;
}

/** Makes a row the one that keys act on, and scrolls to it. */
export function activate(app: App, id: string): void {
  app.ui.set({ active: id });
  const { rows, height, scroll, pinned } = app.ui.get();
  if (pinned.some((r) => r.track?.id === id)) return;
  const row = rows.find((r) => r.track?.id === id);
  if (!row) return;
  const room = height - app.pinnedHeight;
  if (row.y < scroll) app.scrollTo(row.y);
  else if (row.y + row.height > scroll + room) app.scrollTo(row.y + row.height - room);
}

export function moveActive(app: App, by: number): void {
  const { rows, active } = app.ui.get();
  const at = rows.findIndex((r) => r.track?.id === active);
  const next = rows[Math.min(Math.max(0, at + by), rows.length - 1)]?.track;
  if (next) activate(app, next.id);
}

/** Opens the groups that a track is in, and goes to it. */
export async function revealTrack(app: App, id: string): Promise<void> {
  if (!app.ui.get().rows.some((r) => r.track?.id === id)) {
    const above = await app.tree.path(id);
    const open = Object.fromEntries(above.map((t) => [t.id, true]));
    if (above.length) app.state.set({ open: { ...app.state.get().open, ...open } });
    app.relayout();
    await new Promise((r) => requestAnimationFrame(r));
    await new Promise((r) => requestAnimationFrame(r));
  }
  activate(app, id);
}

/** Takes one thing: its details are shown, and the graph goes to it. */
export function pick(app: App, picked: Picked, tab?: Tab): void {
  const { view } = app.state.get();
  app.state.set({ picked, cursor: picked.start, ...(tab && { tab }) });
  const shown = reveal(view, picked.start, picked.end);
  if (shown !== view) app.motion.go(shown);
  const long = picked.end > picked.start ? `, ${duration(picked.end - picked.start)}` : "";
  app.say(`${picked.name || picked.kind} at ${exact(picked.start)}${long}`);
}

interface Found {
  none?: boolean;
  track?: string;
  ts?: number;
  start?: number;
  end?: number;
  /** The number of the row; "id" is that of the question. */
  thing?: number;
  kind?: string;
  name?: string;
  depth?: number;
}

export async function take(app: App, found: Found, tab?: Tab): Promise<void> {
  const start = found.ts ?? found.start ?? 0;
  const track = found.track ?? "";
  const kind = found.kind || kindOf(app.tree.track(track)?.kind ?? "event").detail || "event";
  const end = Math.max(start, found.end ?? start);
  const picked = { track, kind, id: found.thing ?? 0, name: found.name ?? "", start, end, depth: found.depth ?? 0 };
  if (track) await revealTrack(app, track);
  pick(app, picked, tab);
}

export async function search(app: App, forward: boolean): Promise<void> {
  const { search: text, searchKind: kind, cursor, view, filter, filterList } = app.state.get();
  if (!text) {
    document.getElementById("search")?.focus();
    return;
  }
  const from = cursor ?? (forward ? view.start : view.end);
  try {
    const args = { text, kind, from, forward, filter: filterList ? filter : "" };
    const { head } = await app.source.ask<Found>("find", args);
    if (head.none) app.say(`no more “${text}” ${forward ? "after" : "before"} ${exact(from)}`);
    else await take(app, { name: text, ...head }, "details");
  } catch (e) {
    tell(app, e);
  }
}

export async function countFound(app: App): Promise<void> {
  const { search: text, searchKind: kind, filter, filterList } = app.state.get();
  if (!text) return;
  try {
    const args = { text, kind, filter: filterList ? filter : "" };
    const { head } = await app.source.ask<{ count: number }>("count", args);
    app.say(`${count(head.count)} found for “${text}”`);
  } catch (e) {
    tell(app, e);
  }
}

/** The next or previous thing of the track that is active. */
export async function step(app: App, forward: boolean): Promise<void> {
  const { picked, view, cursor } = app.state.get();
  const track = picked?.track || app.ui.get().active;
  if (!track) return;
  const own = picked?.track === track ? picked.id : null;
  const ts = picked?.start ?? cursor ?? (forward ? view.start : view.end);
  try {
    const { head } = await app.source.ask<Found>("step", { track, id: own, ts, forward });
    if (head.none) app.say(`nothing ${forward ? "after" : "before"} on this track`);
    else await take(app, { track, ...head });
  } catch (e) {
    tell(app, e);
  }
}

export function cycleTheme(app: App): void {
  app.state.set({ theme: app.ui.get().dark ? "light" : "dark" });
}
