/**
 * A state as the part of an address behind #, and back. Only what differs from a fresh one is written, and what comes
 * back is checked: an address may come from anybody.
 *
 *     #v=12,3400&s=100,200,cpu:0:1&a=5&p=thread:0:7&o=+proc:0:1,-cpus:0&f=cpu==1&t=flame
 */
import type { Range } from "../time/view";
import { FRESH, type Plot, type Selection, type State, type Tab } from "./state";

const TABS: Tab[] = ["events", "details", "flame", "latency", "top", "sql", "losses"];
const THEMES = ["auto", "dark", "light"] as const;
/** Lists and texts out of an address are not longer than this. */
const MOST = 500;

type Field = { [K in keyof State]: Codec<State[K]> };
interface Codec<T> {
  key: string;
  write(value: T): string;
  /** undefined: not understood, and so left as it is. */
  read(text: string): T | undefined;
}

const finite = (text: string): number | undefined => {
  const n = Number(text);
  return text !== "" && Number.isFinite(n) ? n : undefined;
};

const range = (text: string): Range | undefined => {
  const [start, end] = text.split(",").map(finite);
  return start !== undefined && end !== undefined && end > start ? { start, end } : undefined;
};

const round = (n: number): string => String(Math.round(n * 100) / 100);
const time = (key: string): Codec<number | null> => ({
  key,
  write: (n) => (n === null ? "" : round(n)),
  read: finite,
});
const text = (key: string): Codec<string> => ({ key, write: (s) => s, read: (s) => s.slice(0, 20_000) });
const flag = (key: string): Codec<boolean> => ({ key, write: (b) => (b ? "1" : "0"), read: (s) => s === "1" });
const oneOf = <T extends string>(key: string, all: readonly T[]): Codec<T> => ({
  key,
  write: (s) => s,
  read: (s) => all.find((x) => x === s),
});
const list = (items: string): string[] => (items ? items.split(",").slice(0, MOST) : []);

const selection: Codec<Selection | null> = {
  key: "s",
  write: (s) => (s ? [round(s.start), round(s.end), ...(s.tracks ?? [])].join(",") : ""),
  read: (s) => {
    const found = range(s);
    const tracks = list(s).slice(2);
    return found && { ...found, tracks: tracks.length ? tracks : null };
  },
};

const open: Codec<Record<string, boolean>> = {
  key: "o",
  write: (o) =>
    Object.entries(o)
      .map(([id, is]) => (is ? "+" : "-") + id)
      .join(","),
  read: (s) => Object.fromEntries(list(s).map((item) => [item.slice(1), item[0] === "+"])),
};

const plots: Codec<Plot[]> = {
  key: "pl",
  write: (p) => (p.length ? JSON.stringify(p.map(({ title, sql }) => [title, sql])) : ""),
  read: (s) => {
    try {
      const read: unknown = JSON.parse(s || "[]");
      const fits = (p: unknown): p is [string, string] =>
        Array.isArray(p) && typeof p[0] === "string" && typeof p[1] === "string";
      return Array.isArray(read) ? read.filter(fits).map(([title, sql]) => ({ title, sql })) : undefined;
    } catch {
      return undefined;
    }
  },
};

const CODECS: Omit<Field, "picked"> = {
  view: { key: "v", write: (v) => `${round(v.start)},${round(v.end)}`, read: range },
  selection,
  a: time("a"),
  b: time("b"),
  cursor: time("c"),
  pins: { key: "p", write: (p) => p.join(","), read: list },
  open,
  filter: text("f"),
  filterGraph: flag("fg"),
  filterList: flag("fl"),
  search: text("q"),
  searchKind: text("qk"),
  trackFind: text("tf"),
  sort: text("so"),
  tab: oneOf("t", TABS),
  panel: { key: "h", write: round, read: (s) => finite(s) },
  sql: text("sql"),
  theme: oneOf("th", THEMES),
  follow: flag("fo"),
  arrows: flag("ar"),
  plots,
  absolute: flag("abs"),
};

export function toHash(state: State): string {
  const parts: string[] = [];
  for (const [name, codec] of Object.entries(CODECS) as [keyof State, Codec<unknown>][]) {
    const written = codec.write(state[name]);
    if (written !== codec.write(FRESH[name])) parts.push(`${codec.key}=${encodeURIComponent(written)}`);
  }
  return parts.join("&").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

export function fromHash(hash: string): Partial<State> {
  const found: Record<string, unknown> = {};
  const params = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at <= 0) continue;
    try {
      params.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
    } catch {
      // half of an escape: that part is left out
    }
  }
  for (const [name, codec] of Object.entries(CODECS) as [string, Codec<unknown>][]) {
    const written = params.get(codec.key);
    const value = written === undefined ? undefined : codec.read(written);
    if (value !== undefined) found[name] = value;
  }
  return found as Partial<State>;
}
