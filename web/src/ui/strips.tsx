/** The strip of the whole recording, and the ruler. */
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { drawOverview, drawRuler } from "../draw/ruler";
import { timeAt } from "../input/under";
import { pan, type Range, span, zoom } from "../time/view";
import { Canvas, type Drawn } from "./canvas";
import { useApp, useChosen } from "./hooks";

const WHEEL_ZOOM = 1.0018;
/** Pixels beside a marker's flag, or an edge, that still take hold of it. */
const GRIP = 9;

type Dragger = (time: number, done: boolean) => void;

/** Calls with times while the pointer is held, in the scale of `range`. */
function useDrag(begin: (e: PointerEvent, time: number, width: number) => Dragger | null, range: () => Range) {
  const dragger = useRef<Dragger | null>(null);
  const at = (e: PointerEvent): [number, number] => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    const r = range();
    return [r.start + ((e.clientX - box.left) / box.width) * span(r), box.width];
  };
  return {
    onPointerDown: (e: PointerEvent) => {
      if (e.button !== 0) return;
      dragger.current = begin(e, ...at(e));
      (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
    },
    onPointerMove: (e: PointerEvent) => dragger.current?.(at(e)[0], false),
    onPointerUp: (e: PointerEvent) => {
      dragger.current?.(at(e)[0], true);
      dragger.current = null;
    },
  };
}

const common = (app: App, d: Drawn) => {
  const { selection, a, b } = app.state.get();
  return { selection, a, b, width: d.width, height: d.height, ratio: d.ratio, theme: app.theme };
};

export function Overview() {
  const app = useApp();
  const view = useChosen((s) => s.view);
  const draw = (d: Drawn): void => {
    app.overview.want(Math.round(d.width));
    const { values } = app.overview;
    drawOverview(d.context, { ...common(app, d), all: app.all, view: app.state.get().view, values });
  };
  const drag = useDrag(
    (_e, from, width) => {
      const begun = app.state.get().view;
      const near = (span(app.all) / width) * GRIP;
      if (Math.abs(from - begun.start) < near) return (t) => t < begun.end && app.motion.look({ ...begun, start: t });
      if (Math.abs(from - begun.end) < near) return (t) => t > begun.start && app.motion.look({ ...begun, end: t });
      const inside = from > begun.start && from < begun.end && span(begun) < span(app.all) * 0.95;
      if (inside) return (t) => app.motion.look(pan(begun, t - from));
      return (t, done) => {
        const [start, end] = [Math.min(from, t), Math.max(from, t)];
        if (end - start > near / 3) app.motion.look({ start, end });
        else if (done) app.motion.go(pan(begun, t - (begun.start + begun.end) / 2));
      };
    },
    () => app.all,
  );
  const part = (n: number): number => Math.round(((n - app.all.start) / span(app.all)) * 100);
  return (
    <div
      class="overview"
      {...drag}
      role="slider"
      tabIndex={0}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -0.25, ArrowRight: 0.25 }[e.key];
        if (by) app.motion.go(pan(app.state.get().view, span(app.state.get().view) * by));
      }}
      aria-label="What is on the screen, of the whole recording"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={part((view.start + view.end) / 2)}
      aria-valuetext={`from ${part(view.start)} to ${part(view.end)} percent`}
    >
      <Canvas class="fill" draw={draw} />
    </div>
  );
}

export function Ruler() {
  const app = useApp();
  const ref = useRef<HTMLDivElement>(null);
  const drag = useDrag(
    (_e, from, width) => {
      const { a, b, view } = app.state.get();
      const near = (span(view) / width) * GRIP;
      for (const [name, at] of [["b", b] as const, ["a", a] as const]) {
        if (at !== null && Math.abs(at - from) < near) return (t) => app.state.set({ [name]: t });
      }
      return (t, done) => {
        const [start, end] = [Math.min(from, t), Math.max(from, t)];
        if (end - start > near / 3) app.state.set({ selection: { start, end, tracks: null } });
        else if (done) app.state.set({ cursor: t, selection: null });
      };
    },
    () => app.state.get().view,
  );
  useEffect(() => {
    const wheel = (e: WheelEvent): void => {
      e.preventDefault();
      const x = e.clientX - ref.current!.getBoundingClientRect().left;
      app.motion.look(zoom(app.state.get().view, WHEEL_ZOOM ** e.deltaY, timeAt(app, x)));
    };
    ref.current!.addEventListener("wheel", wheel, { passive: false });
  }, [app]);
  return (
    <div class="ruler" ref={ref} {...drag}>
      <Canvas
        class="fill"
        draw={(d) => drawRuler(d.context, common(app, d), app.state.get().view, app.losses.times())}
      />
    </div>
  );
}
