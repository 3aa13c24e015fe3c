/**
 * The pointer over the tracks: drag pans, with shift it selects, a click picks; the wheel scrolls rows, with ctrl it
 * zooms where the pointer is, with shift it pans.
 */
import type { App } from "../app";
import type { Selection } from "../state/state";
import { pan, span, zoom } from "../time/view";
import { pick } from "./actions";
import { describe, rowUnder, timeAt, under } from "./under";

const CLICK = 4;
const WHEEL_ZOOM = 1.0018;
const LINE = 16;

interface Drag {
  x: number;
  y: number;
  mode: "pan" | "select";
  moved: boolean;
  from: number;
  view: { start: number; end: number };
  scroll: number;
  /** The track that a selection begins in. */
  track: string | null;
}

/** Tracks between two rows, both included. */
function between(app: App, one: string, other: string): string[] {
  const { rows, pinned } = app.ui.get();
  const all = [...pinned, ...rows].flatMap((r) => (r.track ? [r.track.id] : []));
  const [a, b] = [all.indexOf(one), all.indexOf(other)];
  return [...new Set(all.slice(Math.min(a, b), Math.max(a, b) + 1))];
}

export function listenToPointer(app: App, canvas: HTMLElement): () => void {
  let drag: Drag | null = null;
  const place = (e: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };

  const down = (e: PointerEvent): void => {
    if (e.button !== 0) return;
    const [x, y] = place(e);
    const { view } = app.state.get();
    const track = rowUnder(app, y)?.row.track?.id ?? null;
    const mode = e.shiftKey ? "select" : "pan";
    drag = { x, y, mode, moved: false, from: timeAt(app, x), view, scroll: app.ui.get().scroll, track };
    canvas.setPointerCapture(e.pointerId);
  };

  const move = (e: PointerEvent): void => {
    const [x, y] = place(e);
    app.motion.pointer = timeAt(app, x);
    if (!drag) {
      hover(x, y, e);
      return;
    }
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < CLICK) return;
    drag.moved = true;
    canvas.classList.toggle("panning", drag.mode === "pan");
    app.ui.set({ hover: null });
    if (drag.mode === "pan") {
      const by = ((drag.x - x) / app.ui.get().width) * span(drag.view);
      app.motion.look(pan(drag.view, by));
      app.scrollTo(drag.scroll + drag.y - y);
    } else app.state.set({ selection: selected(x, y) });
  };

  const selected = (x: number, y: number): Selection | null => {
    const [start, end] = [drag!.from, timeAt(app, x)].sort((p, q) => p - q) as [number, number];
    const last = rowUnder(app, y)?.row.track?.id;
    const tracks = drag!.track && last ? between(app, drag!.track, last) : null;
    return end > start ? { start, end, tracks } : null;
  };

  const hover = (x: number, y: number, e: PointerEvent): void => {
    const found = under(app, x, y);
    const what = found ? describe(found) : { title: "", text: "" };
    app.ui.set({ hover: { time: timeAt(app, x), x: e.clientX, y: e.clientY, ...what } });
  };

  const up = (e: PointerEvent): void => {
    const ended = drag;
    drag = null;
    canvas.classList.remove("panning");
    if (!ended || ended.moved) return;
    const [x, y] = place(e);
    const found = under(app, x, y);
    if (found?.row.track) app.ui.set({ active: found.row.track.id });
    if (found?.picked && found.merged <= 1) pick(app, found.picked, "details");
    else app.state.set({ cursor: timeAt(app, x), picked: null });
  };

  const leave = (): void => {
    app.motion.pointer = null;
    app.ui.set({ hover: null });
  };

  const wheel = (e: WheelEvent): void => {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? LINE : 1;
    const [dx, dy] = [e.deltaX * unit, e.deltaY * unit];
    const { view } = app.state.get();
    const perPixel = span(view) / app.ui.get().width;
    const [x] = place(e);
    if (e.ctrlKey || e.metaKey || e.altKey) app.motion.look(zoom(view, WHEEL_ZOOM ** dy, timeAt(app, x)));
    else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) app.motion.look(pan(view, (dx || dy) * perPixel));
    else app.scrollTo(app.ui.get().scroll + dy);
  };

  const double = (e: MouseEvent): void => {
    const [x] = place(e);
    app.motion.go(zoom(app.state.get().view, 0.25, timeAt(app, x)));
  };

  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", double);
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointerleave", leave);
    canvas.removeEventListener("wheel", wheel);
    canvas.removeEventListener("dblclick", double);
  };
}
