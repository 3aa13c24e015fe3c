/** What the page asks, and what it is answered. The page knows nothing else of where data come from. */

export type Typed = Float64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

/** Fields of an answer differ by what was asked: each place that asks names the ones that it reads. */
export type Head = Record<string, unknown>;

export interface Reply<H = Head> {
  head: H;
  arrays: Record<string, Typed>;
}

export interface Push {
  push: "progress" | "grown" | "ended" | "form";
  done?: number;
  what?: string;
  end?: number;
  rows?: number;
  /** Whether more may come. */
  live?: boolean;
  /** What was wrong with the last wish to record. */
  error?: string;
}

export interface Source {
  ask<H = Head>(op: string, args: object, signal?: AbortSignal): Promise<Reply<H>>;
  /** Of names that answers so far were told with. */
  name(id: number): string;
  /** Called with what comes unasked. */
  onPush(heard: (push: Push) => void): void;
  /** Called when the connection is gone, and when it is there again. */
  onState(heard: (connected: boolean) => void): void;
  /** Whether everything is in this file: no SQL, no filters. */
  readonly fixed: boolean;
}

/** An answer that says no, in words for the one who asked. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly hint = "",
    readonly at: number | null = null,
  ) {
    super(message);
  }
}

/** One track as the server tells of it. The first number of an id is that of its recording. */
export interface Track {
  id: string;
  kind: string;
  name: string;
  sub?: string;
  depth?: number;
  parent: string | null;
  children: number;
  utid?: number;
  cpu?: number;
  upid?: number;
  busy?: number;
  unit?: string;
  min?: number;
  max?: number;
  /** How many rows of nested slices it has. */
  lanes?: number;
  /** Whether a group is open at first. */
  open?: boolean;
  /** Its place among the children of its parent, where it was asked for by its id. */
  index?: number;
}

export interface Recording {
  path: string;
  format: string;
  host?: string;
  release?: string;
  cpus?: number;
  command?: string;
  start: number;
  end: number;
  events: number;
  offset?: number;
}

export interface Loss {
  name: string;
  severity: string;
  count?: number;
  about: string;
  advice?: string;
}

export interface Kind {
  id: number;
  name: string;
  events: number;
  fields?: string[];
}

export interface Opened {
  product: string;
  version: string;
  recordings: Recording[];
  origin: string;
  start: number;
  end: number;
  live: boolean;
  /** What makes a time since the origin one of the day, in ns since 1970; a string, for it is beyond 2^53. */
  wall?: number | string | null;
  losses: Loss[];
  kinds: Kind[];
  tracks: number;
  library: { name: string; about: string; sql: string }[];
  tables: Record<string, string[]>;
  /** What was left out of a report in one file. */
  cut?: string;
}
