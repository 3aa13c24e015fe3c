/** The page's middle: what was chosen (state), what is on the screen (ui), where data come from, and when to draw. */
import { ArrowsOfView } from "./draw/arrows";
import { Clock } from "./draw/clock";
import { LossesOfView } from "./draw/losses";
import { Overview } from "./draw/overview";
import { THEMES, type Theme } from "./draw/theme";
import { Motion } from "./input/motion";
import { restorePlots } from "./input/plots";
import type { Opened, Push, Source } from "./source/types";
import { fromHash, toHash } from "./state/hash";
import { FRESH, type Picked, type State } from "./state/state";
import { Store } from "./state/store";
import { Tiles } from "./tiles/cache";
import { clamp, type Range, span } from "./time/view";
import { pinnedRows, type Row, rowsOf, totalHeight } from "./tracks/rows";
import { Tree } from "./tracks/tree";

/** What is seen and gone again: no part of a session. */
export interface Ui {
  rows: Row[];
  pinned: Row[];
  scroll: number;
  width: number;
  height: number;
  /** The row that keys act on. */
  active: string | null;
  hover: { time: number; x: number; y: number; title: string; text: string } | null;
  /** The last thing that was done, for those who hear and not see. */
  said: string;
  dialog: "palette" | "help" | "plot" | "latency" | null;
  connected: boolean;
  progress: { done: number; what: string } | null;
  live: boolean;
  filterError: { text: string; at: number | null } | null;
  dark: boolean;
  /** Where the recording ends, as far as it is known. */
  end: number;
  events: number;
}

const HASH_MS = 250;
/** Pinned rows take at most this part of the height. */
const PINNED_PART = 0.45;

export class App {
  readonly state: Store<State>;
  readonly ui: Store<Ui>;
  readonly tree: Tree;
  readonly tiles: Tiles;
  readonly clock: Clock;
  readonly motion: Motion;
  readonly arrows: ArrowsOfView;
  readonly losses: LossesOfView;
  readonly overview: Overview;
  /** Drawing, in order: filled by the parts of the page that have a canvas. */
  readonly painters = new Set<(now: number) => void>();
  /** What was picked in the list of events itself, which need not follow. */
  fromList: Picked | null = null;
  private laidOut = false;
  private pictured = false;
  private hashTimer = 0;

  constructor(
    readonly source: Source,
    readonly opened: Opened,
  ) {
    const all = { start: opened.start, end: Math.max(opened.end, opened.start + 1) };
    const kept = fromHash(location.hash);
    this.state = new Store({ ...FRESH, view: all, ...kept });
    this.state.set({ view: clamp(this.state.get().view, all) });
    this.ui = new Store<Ui>({
      rows: [],
      pinned: [],
      scroll: 0,
      width: 800,
      height: 400,
      active: null,
      hover: null,
      said: "",
      dialog: null,
      connected: true,
      progress: null,
      live: opened.live,
      filterError: null,
      dark: true,
      end: opened.end,
      events: opened.recordings.reduce((n, r) => n + (r.events || 0), 0),
    });
    this.clock = new Clock((now) => this.frame(now));
    this.tree = new Tree(source, () => this.relayout());
    this.tiles = new Tiles(source, (heights) => (heights ? this.relayout() : this.clock.ask()));
    this.motion = new Motion(this);
    this.arrows = new ArrowsOfView(this);
    this.losses = new LossesOfView(this);
    this.overview = new Overview(this);
    this.tiles.end = opened.end;
    this.listen();
  }

  private listen(): void {
    this.state.listen((now, before) => this.changed(now, before));
    this.ui.listen(this.clock.ask);
    this.source.onPush((push) => this.pushed(push));
    this.source.onState((connected) => this.ui.set({ connected }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.applyTheme());
    addEventListener("hashchange", () => this.state.set(fromHash(location.hash)));
    this.applyTheme();
    const { filter, filterGraph, pins, trackFind, sort } = this.state.get();
    this.tiles.filter = filterGraph ? filter : "";
    this.tree.find = trackFind;
    this.tree.sort = sort;
    this.tree.reset();
    void restorePlots(this, this.state.get().plots);
    if (pins.length) void this.tree.fetch(pins).then(() => this.relayout());
  }

  get all(): Range {
    return { start: this.opened.start, end: Math.max(this.opened.end, this.opened.start + 1) };
  }

  get theme(): Theme {
    return THEMES[this.ui.get().dark ? "dark" : "light"];
  }

  /** Text for the live region, and so for screen readers. */
  say(said: string): void {
    this.ui.set({ said });
  }

  /** A new range of time on the screen, at once. */
  look(view: Range): void {
    this.state.set({ view: clamp(view, this.all) });
  }

  scrollTo(scroll: number): void {
    const { height } = this.ui.get();
    const most = Math.max(0, totalHeight(this.ui.get().rows) - (height - this.pinnedHeight));
    this.ui.set({ scroll: Math.min(Math.max(0, scroll), most) });
  }

  get pinnedHeight(): number {
    const { pinned, height } = this.ui.get();
    return Math.min(totalHeight(pinned), Math.round(height * PINNED_PART));
  }

  /** Rows anew, with the next frame. */
  relayout(): void {
    this.laidOut = false;
    this.clock.ask();
  }

  private frame(now: number): void {
    if (!this.laidOut) this.layout();
    if (this.motion.step(now)) this.clock.ask();
    for (const paint of this.painters) paint(now);
    if (!this.pictured && this.tiles.any && !this.tiles.waiting) {
      this.pictured = true;
      performance.mark("picture"); // when everything on the screen was drawn first
    }
  }

  private layout(): void {
    this.laidOut = true;
    const { open, pins } = this.state.get();
    const lanes = (id: string) => this.tiles.lanes(id);
    const rows = rowsOf(this.tree, open, lanes);
    const pinned = pinnedRows(this.tree, pins, lanes);
    const first = rows[0]?.track?.id ?? null;
    this.ui.set({ rows, pinned, active: this.ui.get().active ?? first });
    this.scrollTo(this.ui.get().scroll);
  }

  private changed(now: State, before: State): void {
    this.clock.ask();
    if (now.open !== before.open || now.pins !== before.pins) this.relayout();
    if (now.pins !== before.pins) void this.tree.fetch(now.pins).then(() => this.relayout());
    if (now.theme !== before.theme) this.applyTheme();
    if (now.trackFind !== before.trackFind || now.sort !== before.sort) {
      this.tree.find = now.trackFind;
      this.tree.sort = now.sort;
      this.tree.reset();
    }
    const filter = now.filterGraph ? now.filter : "";
    if (filter !== this.tiles.filter) {
      this.tiles.filter = filter;
      this.tiles.clear();
      this.arrows.clear();
    }
    clearTimeout(this.hashTimer);
    this.hashTimer = window.setTimeout(() => this.writeHash(), HASH_MS);
  }

  writeHash(): void {
    history.replaceState(null, "", `${location.pathname}${location.search}#${toHash(this.state.get())}`);
  }

  private applyTheme(): void {
    const chosen = this.state.get().theme;
    const dark = chosen === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.ui.set({ dark });
  }

  private pushed(push: Push): void {
    if (push.push === "progress") {
      this.ui.set({ progress: (push.done ?? 0) < 1 ? { done: push.done ?? 0, what: push.what ?? "" } : null });
    } else if (push.push === "ended") {
      this.ui.set({ live: false });
      this.say("the recording has ended");
    } else if (push.end !== undefined) {
      this.ui.set({ events: push.rows ?? this.ui.get().events, live: push.live ?? this.ui.get().live });
      this.grown(push.end);
    }
  }

  /** What was at the end of the recording stays at its end, what was elsewhere stays there. */
  private grown(end: number): void {
    const { view } = this.state.get();
    const atEnd = view.end >= this.opened.end - span(view) * 0.02;
    const whole = view.start <= this.opened.start && atEnd;
    const by = end - this.opened.end;
    this.opened.end = end;
    this.tiles.end = end;
    this.overview.clear();
    this.losses.clear();
    this.ui.set({ end });
    if (whole) this.look({ start: view.start, end });
    else if (atEnd) this.look({ start: view.start + by, end: view.end + by });
    this.clock.ask();
    if (this.tree.total === 0) this.tree.reset();
    else this.tree.refresh();
  }
}
