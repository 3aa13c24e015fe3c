/** The whole page. */
import { useEffect } from "preact/hooks";
import { listenToKeys } from "../input/keyboard";
import { Help } from "./help";
import { useApp, useChosen, useUi } from "./hooks";
import { Palette } from "./palette";
import { Panel } from "./panel";
import { PlotForm } from "./plot";
import { Overview, Ruler } from "./strips";
import { TopBar } from "./top-bar";
import { Tracks } from "./tracks";

const SORTS = { "": "as they come", time: "by time", name: "by name", cpu: "by CPU", pid: "by number" };

export function Page() {
  const app = useApp();
  const dialog = useUi((u) => u.dialog);
  useEffect(() => listenToKeys(app), [app]);
  return (
    <div class="page">
      <TopBar />
      {app.opened.cut && <p class="cut">{app.opened.cut}</p>}
      <div class="strips">
        <Finder />
        <div class="time">
          <Overview />
          <Ruler />
        </div>
      </div>
      <Tracks />
      <Panel />
      <Status />
      {dialog === "palette" && <Palette />}
      {(dialog === "plot" || dialog === "latency") && <PlotForm latency={dialog === "latency"} />}
      {dialog === "help" && <Help />}
    </div>
  );
}

/** What rows there are: by a part of their name, and in which order. */
function Finder() {
  const app = useApp();
  const [find, sort] = useChosen((s) => [s.trackFind, s.sort] as const);
  return (
    <div class="finder">
      <input
        id="track-find"
        type="search"
        placeholder="Find a track  T"
        aria-label="Find a track"
        value={find}
        onInput={(e) => app.state.set({ trackFind: e.currentTarget.value })}
      />
      <select
        aria-label="Order of tracks"
        value={sort}
        disabled={app.source.fixed}
        onChange={(e) => app.state.set({ sort: e.currentTarget.value })}
      >
        {Object.entries(SORTS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** What was done last: for the eye, and for the screen reader. */
function Status() {
  const said = useUi((u) => u.said);
  return (
    <output class="status" aria-live="polite" data-testid="status">
      {said}
    </output>
  );
}
