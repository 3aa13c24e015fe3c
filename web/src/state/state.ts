/** Everything that one who looks has chosen: what a session is, and what the address keeps. */
import type { Range } from "../time/view";

export interface Selection extends Range {
  /** null: all tracks. */
  tracks: string[] | null;
}

/** One thing that was clicked on or found. */
export interface Picked extends Range {
  track: string;
  kind: string;
  id: number;
  name: string;
  depth: number;
}

/** A track made of a query, which gives ts and value, or ts, dur and name. */
export interface Plot {
  title: string;
  sql: string;
}

export type Tab = "events" | "details" | "flame" | "latency" | "top" | "sql" | "losses";

export interface State {
  view: Range;
  selection: Selection | null;
  a: number | null;
  b: number | null;
  cursor: number | null;
  picked: Picked | null;
  pins: string[];
  /** Groups that were opened or closed by hand. */
  open: Record<string, boolean>;
  filter: string;
  filterGraph: boolean;
  filterList: boolean;
  search: string;
  searchKind: string;
  trackFind: string;
  sort: string;
  tab: Tab;
  /** Height of the lower part in pixels; 0: as much as is good. */
  panel: number;
  sql: string;
  theme: "auto" | "dark" | "light";
  /** The list goes where the graph goes. */
  follow: boolean;
  arrows: boolean;
  plots: Plot[];
  /** Times of the list are those of the recording itself. */
  absolute: boolean;
}

export const FRESH: State = {
  view: { start: 0, end: 1 },
  selection: null,
  a: null,
  b: null,
  cursor: null,
  picked: null,
  pins: [],
  open: {},
  filter: "",
  filterGraph: true,
  filterList: true,
  search: "",
  searchKind: "any",
  trackFind: "",
  sort: "",
  tab: "events",
  panel: 0,
  sql: "",
  theme: "auto",
  follow: true,
  arrows: true,
  plots: [],
  absolute: false,
};
