/** The list of events, in step with the graph: a row takes the graph to its time, the graph takes the list to its own. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { pick } from "../input/actions";
import { both, quote } from "../lang/filter";
import { count, exact } from "../time/format";
import { around } from "../time/view";
import { useApp, useChosen, useUi } from "./hooks";
import { EventPages, type EventRow, type Lost } from "./pages";
import { Problem } from "./parts";

const ROW = 20;
/** No element of a browser is higher than some tens of millions of pixels: longer lists are scrolled by parts. */
const MOST_HEIGHT = 8_000_000;
const FOLLOW_MS = 200;

export function Events() {
  const app = useApp();
  const filter = useChosen((s) => (s.filterList ? s.filter : ""));
  const [, redraw] = useState(0);
  const pages = useMemo(() => new EventPages(app.source, filter, () => redraw((n) => n + 1)), [app, filter]);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(200);
  const ref = useRef<HTMLDivElement>(null);
  const end = useUi((u) => u.end);
  useEffect(() => {
    if (pages.loaded) pages.refresh();
  }, [end]);
  useEffect(() => {
    const watch = new ResizeObserver(() => setHeight(ref.current!.clientHeight));
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  const shown = Math.ceil(height / ROW);
  const most = Math.max(0, pages.total - Math.floor(height / ROW));
  const go = (row: number): void => setTop(Math.min(Math.max(0, row), most));
  useFollow(pages, (row) => setTop(Math.max(0, row - Math.floor(shown / 3))));
  const first = Math.min(Math.floor(top), most);
  const rows: (EventRow | undefined)[] = [];
  pages.row(first);
  for (let i = first; i < Math.min(first + shown + 1, pages.total); i++) rows.push(pages.row(i));
  return (
    <div class={`events ${pages.flags ? "with-flags" : ""}`} style={pages.widths}>
      <div class="event-row event-head" role="presentation">
        <span class="number" title="number of the event: its id in SQL">
          #
        </span>
        <span>Time</span>
        <span>CPU</span>
        {pages.flags && <span>Flags</span>}
        <span>Task</span>
        <span>Event</span>
        <span>
          What{" "}
          <i class="dim" data-testid="event-total">
            {pages.loaded ? `${count(pages.total)} events` : ""}
          </i>
        </span>
      </div>
      <div
        class="event-list"
        ref={ref}
        role="listbox"
        aria-label="Events"
        tabIndex={0}
        onWheel={(e) => {
          e.preventDefault();
          go(top + (e.deltaMode === 1 ? e.deltaY * 3 : e.deltaY) / ROW);
        }}
        onKeyDown={(e) => keys(e, app, pages, first, shown, go)}
      >
        {pages.error ? (
          <Problem error={pages.error} text={filter} />
        ) : (
          rows.map((row, i) => (
            <Row
              key={first + i}
              row={row}
              at={first + i}
              total={pages.total}
              withFlags={pages.flags}
              lost={pages.lostBefore(first + i)}
            />
          ))
        )}
        {pages.loaded && !pages.total && !pages.error && (
          <p class="empty">{filter ? "No event fits the filter." : "There are no events."}</p>
        )}
      </div>
      <Bar total={pages.total} height={height} top={top} most={most} go={go} />
    </div>
  );
}

/** Takes the list to what was picked; and, while it follows, to where the screen begins. */
function useFollow(pages: EventPages, go: (row: number) => void): void {
  const app = useApp();
  const [view, cursor, picked, follow] = useChosen((s) => [s.view, s.cursor, s.picked, s.follow] as const);
  const own = useRef<unknown>(null);
  useEffect(() => {
    // what was picked in the list itself is in sight already
    if (!follow || (picked && picked === app.fromList) || own.current === view) return;
    const ts = cursor !== null && cursor >= view.start && cursor <= view.end ? cursor : view.start;
    const timer = setTimeout(async () => {
      try {
        const { head } = await app.source.ask<{ row: number }>("locate", {
          filter: pages.filter,
          ts: Math.max(0, Math.round(ts)),
        });
        go(head.row);
      } catch {
        // the list stays where it is
      }
    }, FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [pages, view, cursor, picked, follow]);
}

function take(app: ReturnType<typeof useApp>, row: EventRow): void {
  const [id, ts, , , kind] = row;
  const picked = { track: "", kind: "event", id, name: kind, start: ts, end: ts, depth: 0 };
  app.fromList = picked;
  pick(app, picked);
}

/** Since the first event, or the recording's own: that is a whole number of nanoseconds beyond what a float can hold. */
function timeText(app: ReturnType<typeof useApp>, ts: number, absolute: boolean): string {
  if (!absolute) return exact(ts).replace(" s", "");
  const own = String(BigInt(app.opened.origin) + BigInt(Math.round(ts))).padStart(10, "0");
  return `${own.slice(0, -9)}.${own.slice(-9)}`;
}

function copy(app: ReturnType<typeof useApp>, rows: (EventRow | undefined)[]): void {
  const { absolute, picked } = app.state.get();
  const there = rows.filter((r) => r !== undefined);
  // the one that is picked, or else all that are in sight
  const one = there.filter((r) => picked?.kind === "event" && r[0] === picked.id);
  const lines = (one.length ? one : there).map((r) =>
    [r[0], timeText(app, r[1], absolute), r[2], ...(r[7] ? [r[7]] : []), r[3], r[4], r[5]].join("\t"),
  );
  void navigator.clipboard?.writeText(`${lines.join("\n")}\n`).then(
    () => app.say(`${lines.length} rows copied`),
    () => app.say("the browser does not let a page copy here"),
  );
}

function keys(
  e: KeyboardEvent,
  app: ReturnType<typeof useApp>,
  pages: EventPages,
  first: number,
  shown: number,
  go: (row: number) => void,
): void {
  const { picked } = app.state.get();
  let at = -1;
  for (let i = first; i < first + shown && at < 0; i++)
    if (picked?.kind === "event" && pages.row(i)?.[0] === picked.id) at = i;
  if ((e.ctrlKey || e.metaKey) && e.key === "c" && !getSelection()?.toString()) {
    copy(
      app,
      Array.from({ length: shown }, (_, i) => pages.row(first + i)),
    );
    e.preventDefault();
    return;
  }
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: shown - 1, PageUp: 1 - shown };
  const by = steps[e.key];
  if (e.key === "Home") go(0);
  else if (e.key === "End") go(pages.total);
  else if (by !== undefined) {
    const next = Math.min(Math.max(0, (at < 0 ? first - Math.sign(by) : at) + by), pages.total - 1);
    const row = pages.row(next);
    if (row) take(app, row);
    if (next < first || next >= first + shown - 1) go(Math.abs(by) > 1 || next < first ? next : next - shown + 2);
  } else return;
  e.preventDefault();
  e.stopPropagation();
}

function Row({
  row,
  at,
  total,
  withFlags,
  lost,
}: {
  row: EventRow | undefined;
  at: number;
  total: number;
  withFlags: boolean;
  lost: Lost[];
}) {
  const app = useApp();
  const on = useChosen((s) => s.picked?.kind === "event" && s.picked.id === row?.[0]);
  const absolute = useChosen((s) => s.absolute);
  if (!row) return <div class="event-row waiting" />;
  const [id, ts, cpu, task, kind, info, , flags] = row;
  return (
    <div
      class={`event-row ${on ? "on" : ""} ${lost.length ? "after-loss" : ""}`}
      role="option"
      aria-selected={on}
      aria-posinset={at + 1}
      aria-setsize={total}
      onClick={() => take(app, row)}
      onDblClick={() => app.motion.go(around({ start: ts - 1e5, end: ts + 1e5 }))}
    >
      <span class="number dim">{id}</span>
      <span class="number">{timeText(app, ts, absolute)}</span>
      <span class="number">
        <Narrow text={`cpu in ${cpu}`} label={String(cpu)} />
      </span>
      {withFlags && <span>{flags ?? ""}</span>}
      <span>
        <Narrow text={`task == ${quote(task.replace(/-\d+$/, ""))}`} label={task} />
      </span>
      <span>
        <Narrow text={`event == ${quote(kind)}`} label={kind} />
      </span>
      <span class="info">
        {lost.length > 0 && <em class="chip error">{lostText(lost)}</em>}
        {info}
      </span>
    </div>
  );
}

/** What is missing before a row, CPU by CPU. */
export function lostText(lost: Lost[]): string {
  const by = new Map<number, { sum: number; open: boolean }>();
  for (const [cpu, n] of lost) {
    const one = by.get(cpu ?? -1) ?? { sum: 0, open: false };
    by.set(cpu ?? -1, { sum: one.sum + (n ?? 0), open: one.open || n === null });
  }
  const parts = [...by].map(([cpu, { sum, open }]) => {
    const many = sum ? `${open ? "at least " : ""}${count(sum)} events` : "events";
    return cpu < 0 ? many : `${many} of CPU ${cpu}`;
  });
  return `${parts.join(", ")} lost before this`;
}

/** A value that narrows the filter to itself, with alt and a click. */
function Narrow({ text, label }: { text: string; label: string }) {
  const app = useApp();
  return (
    <span
      title={`${label}\nAlt+click: only ${text}`}
      onClick={(e) => {
        if (!e.altKey) return;
        e.stopPropagation();
        app.state.set({ filter: both(app.state.get().filter, text) });
      }}
    >
      {label}
    </span>
  );
}

function Bar({
  total,
  height,
  top,
  most,
  go,
}: {
  total: number;
  height: number;
  top: number;
  most: number;
  go: (row: number) => void;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const inner = Math.min(total * ROW, MOST_HEIGHT);
  const room = Math.max(1, inner - height);
  const want = most ? (top / most) * room : 0;
  const own = useRef(0);
  useEffect(() => {
    own.current = Math.round(want);
    if (Math.abs(ref.current!.scrollTop - want) > 1) ref.current!.scrollTop = want;
  }, [want, inner]);
  return (
    <div
      class="scrollbar"
      ref={ref}
      tabIndex={-1}
      onScroll={() => {
        const to = ref.current!.scrollTop;
        // its own movement comes back as an event, too
        if (Math.abs(to - own.current) > 1.5) go((to / room) * most);
      }}
    >
      <div style={{ height: `${inner}px` }} />
    </div>
  );
}
