/** Every command, with its keys: the table behind the keyboard, the palette and the help. */
import type { App } from "../app";
import { fromSession, toSession } from "../state/session";
import type { Tab } from "../state/state";
import * as act from "./actions";
import { openText, saveText } from "./files";
import type { Bound } from "./keymap";
import type { Direction } from "./motion";

export interface Command extends Bound {
  title: string;
  group: "Move" | "Mark and select" | "Find" | "Tracks" | "Show" | "Session";
  run: (app: App) => void;
  /** Moves as long as the key is held. */
  hold?: Direction;
}

const focus = (id: string): void => {
  const found = document.getElementById(id) as HTMLInputElement | null;
  found?.focus();
  found?.select?.();
};

const tab =
  (name: Tab) =>
  (app: App): void =>
    app.state.set({ tab: name });

const onActive =
  (run: (app: App, id: string) => void) =>
  (app: App): void => {
    const { active } = app.ui.get();
    if (active) run(app, active);
  };

const held = (hold: Direction, title: string, keys: string[]): Command => ({
  title,
  keys,
  group: "Move",
  hold,
  run: (app) => {
    app.motion.hold(hold);
    setTimeout(() => app.motion.release(hold), 180);
  },
});

export const COMMANDS: readonly Command[] = [
  held("in", "Zoom in", ["w", "+", "="]),
  held("out", "Zoom out", ["s", "-"]),
  held("left", "Pan left", ["a"]),
  held("right", "Pan right", ["d"]),
  { title: "Show the whole recording", keys: ["0", "Home"], group: "Move", run: (app) => app.motion.go(app.all) },
  { title: "Fit to the selection or the slice", keys: ["f"], group: "Move", run: act.fit },
  { title: "Row below", keys: ["ArrowDown", "j"], group: "Tracks", run: (app) => act.moveActive(app, 1) },
  { title: "Row above", keys: ["ArrowUp", "k"], group: "Tracks", run: (app) => act.moveActive(app, -1) },
  { title: "Ten rows down", keys: ["PageDown"], group: "Tracks", run: (app) => act.moveActive(app, 10) },
  { title: "Ten rows up", keys: ["PageUp"], group: "Tracks", run: (app) => act.moveActive(app, -10) },
  {
    title: "Open or close the group",
    keys: ["Space", "e"],
    group: "Tracks",
    run: (app) => {
      const track = act.activeTrack(app);
      if (track?.children) act.toggle(app, track);
    },
  },
  {
    title: "Open the group",
    keys: ["ArrowRight"],
    group: "Tracks",
    run: (app) => {
      const track = act.activeTrack(app);
      if (track?.children) app.state.set({ open: { ...app.state.get().open, [track.id]: true } });
    },
  },
  {
    title: "Close the group, or go to the one around it",
    keys: ["ArrowLeft"],
    group: "Tracks",
    run: (app) => {
      const track = act.activeTrack(app);
      const { rows } = app.ui.get();
      if (rows.find((r) => r.track?.id === track?.id)?.open) act.toggle(app, track!);
      else if (track?.parent) act.activate(app, track.parent);
    },
  },
  { title: "Close all groups", keys: ["E"], group: "Tracks", run: act.collapseAll },
  { title: "Pin or unpin the row", keys: ["p"], group: "Tracks", run: onActive(act.pin) },
  { title: "Unpin all rows", keys: ["P"], group: "Tracks", run: (app) => app.state.set({ pins: [] }) },
  { title: "Find a track", keys: ["T"], group: "Tracks", run: () => focus("track-find") },
  { title: "Set marker A", keys: ["[", "1"], group: "Mark and select", run: (app) => act.mark(app, "a") },
  { title: "Set marker B", keys: ["]", "2"], group: "Mark and select", run: (app) => act.mark(app, "b") },
  { title: "Select from A to B", keys: ["m"], group: "Mark and select", run: act.selectMarked },
  {
    title: "Select what is on the screen",
    keys: ["v"],
    group: "Mark and select",
    run: (app) => app.state.set({ selection: { ...app.state.get().view, tracks: null } }),
  },
  {
    title: "Select the slice's time",
    keys: ["r"],
    group: "Mark and select",
    run: (app) => {
      const { picked } = app.state.get();
      if (picked && picked.end > picked.start)
        app.state.set({ selection: { start: picked.start, end: picked.end, tracks: [picked.track] } });
    },
  },
  {
    title: "Narrow the selection to the row, or to all again",
    keys: ["R"],
    group: "Mark and select",
    run: onActive((app, id) => {
      const { selection, view } = app.state.get();
      const range = selection ?? view;
      app.state.set({ selection: { start: range.start, end: range.end, tracks: selection?.tracks ? null : [id] } });
    }),
  },
  { title: "Drop the selection, the slice, the markers", keys: ["Escape"], group: "Mark and select", run: act.back },
  { title: "Search", keys: ["/"], group: "Find", run: () => focus("search") },
  { title: "Next found", keys: ["n"], group: "Find", run: (app) => void act.search(app, true) },
  { title: "Previous found", keys: ["N"], group: "Find", run: (app) => void act.search(app, false) },
  { title: "Next on this track", keys: ["."], group: "Find", run: (app) => void act.step(app, true) },
  { title: "Previous on this track", keys: [","], group: "Find", run: (app) => void act.step(app, false) },
  { title: "Filter", keys: ["F"], group: "Find", run: () => focus("filter") },
  { title: "Events", keys: ["Alt+1"], group: "Show", run: tab("events") },
  { title: "Details", keys: ["Alt+2"], group: "Show", run: tab("details") },
  { title: "Flame graph", keys: ["Alt+3"], group: "Show", run: tab("flame") },
  { title: "Latency", keys: ["Alt+4"], group: "Show", run: tab("latency") },
  { title: "Top", keys: ["Alt+5"], group: "Show", run: tab("top") },
  { title: "SQL", keys: ["Alt+6"], group: "Show", run: tab("sql") },
  { title: "What is missing or doubtful", keys: ["Alt+7"], group: "Show", run: tab("losses") },
  {
    title: "Arrows of wake-ups on or off",
    keys: ["x"],
    group: "Show",
    run: (app) => app.state.set({ arrows: !app.state.get().arrows }),
  },
  { title: "Plot a field…", keys: [], group: "Show", run: (app) => app.ui.set({ dialog: "plot" }) },
  { title: "Plot a latency…", keys: [], group: "Show", run: (app) => app.ui.set({ dialog: "latency" }) },
  {
    title: "Drop the plots",
    keys: [],
    group: "Show",
    run: (app) => app.state.set({ plots: [] }),
  },
  {
    title: "Times of the recording, or since its first event",
    keys: ["c"],
    group: "Show",
    run: (app) => app.state.set({ absolute: !app.state.get().absolute }),
  },
  { title: "Dark or light", keys: ["t"], group: "Show", run: act.cycleTheme },
  {
    title: "Commands",
    keys: ["Ctrl+K", "Ctrl+Shift+P"],
    group: "Show",
    run: (app) => app.ui.set({ dialog: "palette" }),
  },
  { title: "Help", keys: ["?"], group: "Show", run: (app) => app.ui.set({ dialog: "help" }) },
  {
    title: "Save the session to a file",
    keys: ["Ctrl+S"],
    group: "Session",
    run: (app) => saveText("probescope-session.json", toSession(app.state.get(), app.opened)),
  },
  {
    title: "Open a session from a file",
    keys: ["o"],
    group: "Session",
    run: (app) => {
      void openText(".json").then((text) => {
        try {
          app.state.set(fromSession(text));
          app.say("session opened");
        } catch (e) {
          act.tell(app, e);
        }
      });
    },
  },
  {
    title: "Copy the address of what is on the screen",
    keys: ["y"],
    group: "Session",
    run: (app) => {
      app.writeHash();
      navigator.clipboard?.writeText(location.href).then(
        () => app.say("address copied"),
        () => app.say("the browser does not let a page copy here: take it from the address bar"),
      );
    },
  },
];
