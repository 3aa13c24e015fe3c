/** The upper edge: which recording, what is lost, search, filter, and the state of things. */
import { useEffect, useState } from "preact/hooks";
import { countFound, cycleTheme, search } from "../input/actions";
import { Refused } from "../source/types";
import { count, duration } from "../time/format";
import { useApp, useAsk, useChosen, useUi } from "./hooks";

export function TopBar() {
  const app = useApp();
  const { recordings, losses } = app.opened;
  const connected = useUi((u) => u.connected);
  const live = useUi((u) => u.live);
  const first = recordings[0];
  const [events, end] = useUi((u) => [u.events, u.end] as const);
  const name = (path: string): string => path.split("/").at(-1) || path;
  const title = recordings.map((r) => name(r.path)).join(" + ");
  useEffect(() => {
    document.title = `${title || "recording"} – probescope`;
  }, [title]);
  const worst = ["error", "warning"].find((s) => losses.some((l) => l.severity === s)) ?? "info";
  return (
    <header>
      <h1
        title={recordings
          .map((r) => `${r.path} (${r.format}) ${r.host ?? ""} ${r.release ?? ""} ${r.command ?? ""}`)
          .join("\n")}
      >
        {title || "probescope"}
      </h1>
      <span class="facts dim">
        {first?.host && `${first.host}, `}
        {count(events)} events, {duration(end - app.all.start)}
      </span>
      {live && <Live />}
      {losses.length > 0 && (
        <button type="button" class={`chip ${worst}`} onClick={() => app.state.set({ tab: "losses" })}>
          {worst === "info" ? "notes" : worst === "error" ? "events lost" : "warnings"}: {losses.length}
        </button>
      )}
      {!connected && (
        <span class="chip error" role="alert">
          not connected: trying again
        </span>
      )}
      <Progress />
      <span class="grow" />
      <Search />
      <Filter />
      <button
        type="button"
        class="icon"
        onClick={() => app.ui.set({ dialog: "palette" })}
        title="Commands (Ctrl+K)"
        aria-label="Commands"
      >
        ⌘
      </button>
      <button
        type="button"
        class="icon"
        onClick={() => cycleTheme(app)}
        title="Dark or light (t)"
        aria-label="Dark or light"
      >
        ◐
      </button>
      <button
        type="button"
        class="icon"
        onClick={() => app.ui.set({ dialog: "help" })}
        title="Help (?)"
        aria-label="Help"
      >
        ?
      </button>
    </header>
  );
}

function Live() {
  const app = useApp();
  return (
    <span class="chip live">
      <i aria-hidden="true">●</i> live
      <button type="button" class="link" onClick={() => app.source.ask("stop", {}).catch(() => {})}>
        stop
      </button>
    </span>
  );
}

function Progress() {
  const progress = useUi((u) => u.progress);
  if (!progress) return null;
  return (
    <span class="progress">
      <progress value={progress.done} max={1} aria-label={progress.what} /> {progress.what}
    </span>
  );
}

const KINDS = { any: "anything", event: "events", name: "names", task: "tasks" };

function Search() {
  const app = useApp();
  const [text, kind] = useChosen((s) => [s.search, s.searchKind] as const);
  return (
    <form
      class="search"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        void search(app, true);
      }}
    >
      <input
        id="search"
        type="search"
        placeholder="Search  /"
        aria-label="Search; Enter: next, Shift+Enter: previous"
        value={text}
        onInput={(e) => app.state.set({ search: e.currentTarget.value })}
        onChange={() => void countFound(app)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || !e.shiftKey) return;
          e.preventDefault();
          void search(app, false);
        }}
      />
      <select
        aria-label="What to search"
        value={kind}
        onChange={(e) => app.state.set({ searchKind: e.currentTarget.value })}
      >
        {Object.entries(KINDS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="icon"
        title="Previous (N)"
        aria-label="Previous found"
        onClick={() => void search(app, false)}
      >
        ‹
      </button>
      <button type="submit" class="icon" title="Next (n)" aria-label="Next found">
        ›
      </button>
    </form>
  );
}

function Filter() {
  const app = useApp();
  const [filter, graph, list] = useChosen((s) => [s.filter, s.filterGraph, s.filterList] as const);
  const [text, setText] = useState(filter);
  useEffect(() => setText(filter), [filter]);
  const { error } = useAsk("check", text ? { filter: text } : null);
  const wrong = text ? error : null;
  const where = wrong instanceof Refused && wrong.at !== null ? ` (character ${wrong.at + 1})` : "";
  return (
    <form
      class={`filter ${filter ? "on" : ""}`}
      onSubmit={(e) => {
        e.preventDefault();
        app.state.set({ filter: text.trim() });
      }}
    >
      <input
        id="filter"
        type="search"
        placeholder='Filter: task == "bash" and cpu in 0-1'
        aria-label="Filter"
        aria-invalid={!!wrong}
        aria-describedby="filter-error"
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          // emptied by its own button
          if (!e.currentTarget.value) app.state.set({ filter: "" });
        }}
      />
      <label title="Leave out of the graph what does not fit">
        <input type="checkbox" checked={graph} onChange={() => app.state.set({ filterGraph: !graph })} /> graph
      </label>
      <label title="Leave out of the list, search and tables what does not fit">
        <input type="checkbox" checked={list} onChange={() => app.state.set({ filterList: !list })} /> list
      </label>
      <span id="filter-error" role="alert" class={wrong ? "shown" : ""}>
        {wrong ? wrong.message + where : ""}
      </span>
    </form>
  );
}
