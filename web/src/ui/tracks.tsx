/** The graph: names to the left, canvases to the right, a scroll bar. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { App } from "../app";
import { type Box, drawOverlay } from "../draw/overlay";
import { Stage } from "../draw/stage";
import { listenToPointer } from "../input/pointer";
import { span } from "../time/view";
import { kindOf } from "../tracks/kinds";
import { GAP, type Row, totalHeight } from "../tracks/rows";
import { Canvas, type Drawn } from "./canvas";
import { useApp, useUi } from "./hooks";
import { Names } from "./names";

const FONT = "system-ui, sans-serif";

function scene(app: App, d: Drawn) {
  const { rows, pinned, scroll, active } = app.ui.get();
  const { view } = app.state.get();
  const fonts = { label: `${11 * d.ratio}px ${FONT}` };
  const { pinnedHeight, theme, all } = app;
  return { view, all, rows, pinned, scroll, pinnedHeight, active, theme, fonts, ...d };
}

/** Where rows are on the screen now. */
function placed(app: App): { row: Row; y: number }[] {
  const { rows, pinned, scroll } = app.ui.get();
  const top = app.pinnedHeight;
  return [...pinned.map((row) => ({ row, y: row.y })), ...rows.map((row) => ({ row, y: row.y + top - scroll }))];
}

function over(app: App, d: Drawn): void {
  const { view, selection, a, b, cursor, picked } = app.state.get();
  const { hover, rows, pinned, scroll } = app.ui.get();
  const x = (t: number): number => ((t - view.start) / span(view)) * d.width;
  const boxes: Box[] = [];
  let box: Box | null = null;
  if (selection?.tracks || picked) {
    const chosen = new Set(selection?.tracks ?? []);
    for (const { row, y } of placed(app)) {
      const id = row.track?.id;
      if (!id || y > d.height || y + row.height < 0) continue;
      if (chosen.has(id)) boxes.push({ x0: 0, x1: d.width, y, height: row.height });
      if (id !== picked?.track) continue;
      const { style, height } = kindOf(row.track!.kind);
      const nested = style === "nested";
      const top = y + 1 + (nested ? picked.depth * height : 0);
      box = { x0: x(picked.start), x1: x(picked.end), y: top, height: nested ? height - 1 : row.height - GAP - 2 };
    }
  }
  const arrows = app.arrows.current(rows, pinned, scroll, app.pinnedHeight, d.width);
  const notches = app.losses.notches(placed(app), d.width, app.pinnedHeight);
  drawOverlay(d.context, {
    ...{ view, selection, boxes, a, b, cursor, arrows, notches, picked: box, theme: app.theme },
    ...{ width: d.width, height: d.height, ratio: d.ratio, hover: hover?.time ?? null },
  });
}

export function Tracks() {
  const app = useApp();
  const ref = useRef<HTMLDivElement>(null);
  const stage = useMemo(() => new Stage(app.source, app.tiles), [app]);
  useEffect(() => {
    const graph = ref.current!;
    const watch = new ResizeObserver(() => {
      app.ui.set({ width: Math.max(50, graph.clientWidth), height: graph.clientHeight });
      app.scrollTo(app.ui.get().scroll);
    });
    watch.observe(graph);
    const stop = listenToPointer(app, graph);
    return () => {
      watch.disconnect();
      stop();
    };
  }, [app]);
  return (
    <div class="tracks">
      <Names />
      <div class="graph" ref={ref} data-testid="graph">
        <Canvas class="base" draw={(d) => stage.draw(d.context, scene(app, d))} />
        <Canvas class="over" draw={(d) => over(app, d)} />
        <Nothing />
      </div>
      <ScrollBar />
      <Tip />
    </div>
  );
}

function Nothing() {
  const app = useApp();
  const rows = useUi((u) => u.rows.length);
  if (rows || app.tree.root.children === null) return null;
  return (
    <p class="nothing">
      {app.tree.find ? `No track is called “${app.tree.find}”.` : "Nothing was recorded that could be drawn."}
    </p>
  );
}

/** The browser's own, beside rows that it does not scroll itself. */
function ScrollBar() {
  const app = useApp();
  const ref = useRef<HTMLDivElement>(null);
  const [scroll, rows] = useUi((u) => [u.scroll, u.rows] as const);
  useEffect(() => {
    const bar = ref.current!;
    if (Math.abs(bar.scrollTop - scroll) > 1) bar.scrollTop = scroll;
  }, [scroll, rows]);
  return (
    <div
      class="scrollbar"
      ref={ref}
      tabIndex={-1}
      style={{ marginTop: `${app.pinnedHeight}px` }}
      onScroll={() => app.scrollTo(ref.current!.scrollTop)}
    >
      <div style={{ height: `${totalHeight(rows)}px` }} />
    </div>
  );
}

function Tip() {
  const hover = useUi((u) => u.hover);
  if (!hover?.title && !hover?.text) return null;
  const right = hover.x > innerWidth - 280;
  const low = hover.y > innerHeight - 90;
  const style = {
    left: right ? "auto" : `${hover.x + 14}px`,
    right: right ? `${innerWidth - hover.x + 10}px` : "auto",
    top: `${low ? hover.y - 52 : hover.y + 16}px`,
  };
  return (
    <div class="tip" style={style} role="presentation">
      <b>{hover.title}</b>
      {hover.text && <span>{hover.text}</span>}
    </div>
  );
}
