/** The flame graph of the selection: a click goes into a frame, Escape or a click on what is above goes out again. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { css, HUES, hash } from "../draw/colours";
import { drawLabels } from "../draw/labels";
import { boxes, type FlameBox, pathOf, type Flame as Tree, wholeOf } from "../flame/layout";
import { count, duration } from "../time/format";
import { Canvas, type Drawn } from "./canvas";
import { asked, useApp, useAsk, useScope } from "./hooks";
import { Problem, ScopeLine } from "./parts";

const ROW = 18;

export function Flame() {
  const app = useApp();
  const scope = useScope();
  const { reply, error, busy } = useAsk<{ cut?: number; unit?: string }>("select", { ...asked(scope), what: "flame" });
  const tree = reply && (reply.arrays as unknown as Tree);
  const [zoomed, setZoomed] = useState(-1);
  const [at, setAt] = useState(-1);
  const [text, setText] = useState("");
  useEffect(() => {
    setZoomed(-1);
    setAt(-1);
  }, [reply]);
  const unit = reply?.head.unit ?? "samples";
  const amount = (n: number): string => (unit === "ns" ? duration(n) : `${count(n)} ${unit}`);
  if (error) return <Problem error={error} />;
  if (!tree?.parent?.length)
    return <p class="empty">{busy || !reply ? "Adding up stacks…" : "There are no stacks in this range."}</p>;
  const name = (i: number): string => app.source.name(tree.frame[i]!);
  const whole = wholeOf(tree);
  const about = (i: number): string =>
    `${name(i)}: ${amount(tree.total[i]!)} (${((tree.total[i]! / whole) * 100).toFixed(1)} %), own ${amount(tree.self[i]!)}`;
  return (
    <div class="flame">
      <div class="line">
        <ScopeLine scope={scope} busy={busy} />
        <input
          type="search"
          placeholder="Highlight"
          aria-label="Highlight frames"
          onInput={(e) => setText(e.currentTarget.value)}
        />
        {zoomed >= 0 && (
          <button type="button" onClick={() => setZoomed(-1)}>
            Whole graph
          </button>
        )}
        <span class="grow detail" data-testid="flame-detail">
          {at >= 0 ? about(at) : `${amount(whole)} in all`}
        </span>
        {!!reply?.head.cut && <span class="warn">{count(reply.head.cut)} small frames left out</span>}
      </div>
      <Graph {...{ tree, zoomed, text, at, setAt, about, name }} zoom={setZoomed} />
    </div>
  );
}

interface GraphProps {
  tree: Tree;
  zoomed: number;
  text: string;
  at: number;
  setAt: (i: number) => void;
  zoom: (i: number) => void;
  about: (i: number) => string;
  name: (i: number) => string;
}

function Graph({ tree, zoomed, text, at, setAt, zoom, about, name }: GraphProps) {
  const app = useApp();
  const list = useMemo(() => boxes(tree, zoomed, 0.0006), [tree, zoomed]);
  const depth = list.reduce((most, b) => Math.max(most, b.depth), 0) + 1;
  const ref = useRef<HTMLDivElement>(null);
  useEffect(app.clock.ask, [list, text, at]);
  const find = (e: MouseEvent): number => {
    const box = ref.current!.getBoundingClientRect();
    const x = (e.clientX - box.left) / box.width;
    const row = Math.floor((e.clientY - box.top) / ROW);
    return list.find((b) => b.depth === row && x >= b.x0 && x < b.x1)?.node ?? -1;
  };
  const keys = (e: KeyboardEvent): void => {
    const next = walk(tree, list, at, e.key);
    if (e.key === "Enter" && at >= 0) zoom(at);
    else if (e.key === "Escape" && zoomed >= 0) zoom(-1);
    else if (next !== null) {
      setAt(next);
      app.say(about(next));
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div
      class="scroll"
      tabIndex={0}
      role="application"
      aria-label="Flame graph: arrow keys walk, Enter goes into a frame"
      onKeyDown={keys}
    >
      <div
        class="flame-graph"
        ref={ref}
        style={{ height: `${depth * ROW}px` }}
        data-testid="flame"
        onMouseMove={(e) => setAt(find(e))}
        onMouseLeave={() => setAt(-1)}
        onClick={(e) => {
          const i = find(e);
          zoom(i === zoomed ? -1 : i);
        }}
      >
        <Canvas
          class="fill"
          draw={(d) => draw(d, list, at, text.toLowerCase(), name, app)}
          label={`${list.length} frames`}
        />
      </div>
    </div>
  );
}

function draw(
  d: Drawn,
  list: FlameBox[],
  at: number,
  text: string,
  name: (i: number) => string,
  app: ReturnType<typeof useApp>,
) {
  const { context: c, ratio, width, height } = d;
  const { theme } = app;
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.clearRect(0, 0, width * ratio, height * ratio);
  const labels = [];
  for (const b of list) {
    const frame = name(b.node);
    const [x0, x1] = [b.x0 * width * ratio, b.x1 * width * ratio];
    const y = b.depth * ROW * ratio;
    const off = text !== "" && !frame.toLowerCase().includes(text);
    c.fillStyle = css((off ? theme.faintHues : theme.hues)[hash(frame) % HUES]!);
    c.fillRect(x0, y, Math.max(1, x1 - x0 - 1), (ROW - 1) * ratio);
    if (b.node === at) {
      c.strokeStyle = theme.pick;
      c.lineWidth = 2 * ratio;
      c.strokeRect(x0 + 1, y + 1, Math.max(1, x1 - x0 - 3), (ROW - 1) * ratio - 2);
    }
    if (x1 - x0 > 24 * ratio && !off) labels.push({ text: frame, x0, x1, y: y + (ROW / 2) * ratio });
  }
  drawLabels(c, labels, `${11 * ratio}px system-ui, sans-serif`, theme.onSlice);
}

/** Where an arrow key leads to from a node; null where the key is none. */
function walk(tree: Tree, list: FlameBox[], at: number, key: string): number | null {
  const box = list.find((b) => b.node === at);
  if (!box) return key.startsWith("Arrow") ? (list[0]?.node ?? null) : null;
  const rowOf = (depth: number) => list.filter((b) => b.depth === depth).sort((p, q) => p.x0 - q.x0);
  if (key === "ArrowDown") return rowOf(box.depth + 1).find((b) => tree.parent[b.node] === at)?.node ?? at;
  if (key === "ArrowUp") return pathOf(tree, at).at(-2) ?? at;
  const row = rowOf(box.depth);
  const i = row.indexOf(box);
  if (key === "ArrowRight") return row[Math.min(i + 1, row.length - 1)]!.node;
  if (key === "ArrowLeft") return row[Math.max(i - 1, 0)]!.node;
  return null;
}
