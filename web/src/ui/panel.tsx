/** The lower part: tabs on what is selected, and the edge that changes its height. */
import { useRef } from "preact/hooks";
import type { Loss } from "../source/types";
import type { Tab } from "../state/state";
import { count } from "../time/format";
import { Details } from "./details";
import { Events } from "./events";
import { Flame } from "./flame";
import { useApp, useChosen } from "./hooks";
import { Latency } from "./latency";
import { MarkerLine as Markers } from "./markers";
import { Sql } from "./sql";
import { Top } from "./top";

const TABS: { id: Tab; title: string; body: () => preact.JSX.Element | null }[] = [
  { id: "events", title: "Events", body: Events },
  { id: "details", title: "Details", body: Details },
  { id: "flame", title: "Flame graph", body: Flame },
  { id: "latency", title: "Latency", body: Latency },
  { id: "top", title: "Top", body: Top },
  { id: "sql", title: "SQL", body: SqlOrNot },
  { id: "losses", title: "Losses", body: Losses },
];

const LEAST = 60;
const STEP = 24;

export function Panel() {
  const app = useApp();
  const [tab, panel] = useChosen((s) => [s.tab, s.panel] as const);
  const shown = TABS.find((t) => t.id === tab) ?? TABS[0]!;
  const Body = shown.body;
  const keys = (e: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const next = TABS[(TABS.indexOf(shown) + by + TABS.length) % TABS.length]!;
    app.state.set({ tab: next.id });
    document.getElementById(`tab-${next.id}`)?.focus();
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <>
      <Edge />
      <section class="panel" style={{ height: panel ? `min(${panel}px, 70vh)` : "clamp(150px, 35vh, 340px)" }}>
        <div class="tabs" role="tablist" aria-label="About the selection" onKeyDown={keys}>
          {TABS.map((t) => (
            <button
              type="button"
              key={t.id}
              id={`tab-${t.id}`}
              role="tab"
              aria-selected={t === shown}
              aria-controls="tab-body"
              tabIndex={t === shown ? 0 : -1}
              onClick={() => app.state.set({ tab: t.id })}
            >
              {t.title}
            </button>
          ))}
          <span class="grow" />
          <Markers />
          {shown.id === "events" && <Follow />}
        </div>
        <div class="body" id="tab-body" role="tabpanel" aria-labelledby={`tab-${shown.id}`}>
          <Body />
        </div>
      </section>
    </>
  );
}

/** Of the part below the edge, as it is. */
const heightOf = (edge: HTMLElement): number => (edge.nextElementSibling as HTMLElement).offsetHeight;

function Edge() {
  const app = useApp();
  const panel = useChosen((s) => s.panel);
  const from = useRef<{ y: number; panel: number } | null>(null);
  const set = (height: number): void => app.state.set({ panel: Math.max(LEAST, Math.min(height, innerHeight * 0.7)) });
  return (
    <div
      class="edge"
      role="separator"
      tabIndex={0}
      aria-orientation="horizontal"
      aria-label="Height of the lower part"
      aria-valuenow={Math.round(panel)}
      onPointerDown={(e) => {
        from.current = { y: e.clientY, panel: heightOf(e.currentTarget) };
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => from.current && set(from.current.panel + from.current.y - e.clientY)}
      onPointerUp={() => {
        from.current = null;
      }}
      onKeyDown={(e) => {
        const by = { ArrowUp: STEP, ArrowDown: -STEP }[e.key];
        if (!by) return;
        set(heightOf(e.currentTarget) + by);
        e.preventDefault();
        e.stopPropagation();
      }}
    />
  );
}

function SqlOrNot() {
  const app = useApp();
  if (!app.source.fixed) return <Sql />;
  const path = app.opened.recordings[0]?.path.split("/").at(-1) || "FILE";
  return (
    <p class="empty">
      A report has no tables. With the recording itself there are: <code>probescope timeline {path}</code>, or{" "}
      <code>probescope query {path} "select …"</code>. Here, Top counts events, and filters know their fields.
    </p>
  );
}

function Follow() {
  const app = useApp();
  const follow = useChosen((s) => s.follow);
  return (
    <label>
      <input type="checkbox" checked={follow} onChange={() => app.state.set({ follow: !follow })} /> follows the graph
    </label>
  );
}

function Losses() {
  const app = useApp();
  const { losses, cut } = app.opened;
  if (!losses.length && !cut) return <p class="empty">Nothing is missing that is known of.</p>;
  return (
    <ul class="losses scroll">
      {cut && <li class="warning">{cut}</li>}
      {losses.map((l: Loss, i) => (
        <li key={`${l.name} ${i}`} class={l.severity}>
          <b>{l.name}</b> {l.count ? `(${count(l.count)})` : ""} {l.about}
          {l.advice && <p class="dim">{l.advice}</p>}
        </li>
      ))}
    </ul>
  );
}
