/** Filters over what a report holds: of its events, and of the threads and CPUs of its pictures. */
import { Refused } from "../types";
import type { Container } from "./container";
import { type Node, parse, type Value } from "./parse";

/** What a condition may ask of one thing: undefined where that is not known of it, null where it has no such thing. */
type Ask = (name: string) => Value | undefined | null;

/** As a text in the shell's patterns: * ? [abc] [!abc]. */
export function glob(pattern: string): RegExp {
  const inner = pattern.replace(/\[[!^]?\]?[^\]]*\]|[\s\S]/g, (part) => {
    if (part === "*") return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    if (part.length > 1)
      return `[${part
        .slice(1, -1)
        .replace(/^!/, "^")
        .replace(/[\\[\]]/g, "\\$&")}]`;
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  });
  return new RegExp(`^(?:${inner})$`);
}

type Test = (value: Value) => boolean;

const TESTS: Record<string, (order: number) => boolean> = {
  "==": (n) => n === 0,
  "!=": (n) => n !== 0,
  "<": (n) => n < 0,
  "<=": (n) => n <= 0,
  ">": (n) => n > 0,
  ">=": (n) => n >= 0,
};

function order(a: Value, b: Value): number {
  const [x, y] = typeof a === "number" && typeof b === "number" ? [a, b] : [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Numbers are compared as numbers, where both are. */
const alike = (value: Value, to: Value): Value =>
  typeof to === "number" && typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value))
    ? Number(value)
    : value;

function testOf(op: string, wanted: Value, ranges: [Value, Value][]): Test {
  if (op === "~" || op === "!~") {
    const shape = glob(String(wanted));
    return (v) => shape.test(String(v)) === (op === "~");
  }
  if (op === "in") return (v) => ranges.some(([a, b]) => order(alike(v, a), a) >= 0 && order(alike(v, b), b) <= 0);
  if (op === "&") {
    const bits = typeof wanted === "number" ? BigInt(Math.trunc(wanted)) : 0n;
    return (v) => /^-?\d+$|^0x[\da-f]+$/i.test(String(v)) && (BigInt(v) & bits) !== 0n;
  }
  const fits = TESTS[op]!;
  return (v) => fits(order(alike(v, wanted), wanted));
}

/** True, false, or undefined where it may and may not hold. */
type Judge = (ask: Ask) => boolean | undefined;

function judge(node: Node): Judge {
  if (node.is === "not") {
    const inner = judge(node.one);
    return (ask) => {
      const found = inner(ask);
      return found === undefined ? undefined : !found;
    };
  }
  if (node.is !== "term") {
    const parts = node.parts.map(judge);
    const ends = node.is === "or";
    return (ask) => {
      let unknown = false;
      for (const part of parts) {
        const found = part(ask);
        if (found === ends) return ends;
        unknown ||= found === undefined;
      }
      return unknown ? undefined : !ends;
    };
  }
  const { name, op, value, ranges } = node;
  const test = testOf(op, value, ranges);
  const lower = name.toLowerCase();
  if (lower === "period") throw new Refused("this report does not hold periods", "", node.at);
  if (lower === "event") return byKind(op, test);
  const called = (lower === "comm" ? "task" : ALWAYS.has(lower) ? lower : name) + (op.endsWith("~") ? " ~" : "");
  const asked = called.startsWith("common_flags") ? called : called.replace(" ~", "");
  return (ask) => {
    const found = ask(asked);
    return found === undefined ? undefined : found !== null && test(found);
  };
}

/** A kind of event is meant by its name without its system, too. */
function byKind(op: string, test: Test): Judge {
  const no = op === "!=" || op === "!~";
  return (ask) => {
    const kind = ask("event");
    if (kind === undefined || kind === null) return undefined;
    const plain = String(kind).split(":").at(-1)!;
    return no ? test(kind) && test(plain) : test(kind) || test(plain);
  };
}

const ALWAYS = new Set(["task", "pid", "tid", "cpu", "common_flags", "common_preempt_count"]);

/** Of its letters: d interrupts off, N to be rescheduled, h and s in interrupts (include/linux/trace_events.h). */
export function bits(letters: string): number {
  const inside = { h: 8, s: 16, H: 24 }[letters[2] ?? ""] ?? 0;
  return ({ d: 1, X: 2 }[letters[0] ?? ""] ?? 0) | (letters[1] === "N" ? 4 : 0) | inside;
}

function depth(letters: string): number {
  const [one = 0, other = 0] = [letters[3], letters[4]].map((x) => Number.parseInt(x ?? "", 16) || 0);
  return one | (other << 4);
}

/** The value of a field in the line that tells of the event: `a=1 b=two words c=3`. */
export function field(info: string, name: string): string | null {
  const plain = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name;
  const at = ` ${info}`.indexOf(` ${plain}=`);
  if (at < 0) return null;
  const rest = info.slice(at + plain.length + 1);
  const end = rest.search(/\s[A-Za-z_]\w*=/);
  return end < 0 ? rest : rest.slice(0, end);
}

const text = (c: Container, column: string, i: number): string => c.names.get(c.arrays[column]?.[i] ?? -1) ?? "";

function ofEvent(c: Container, i: number): Ask {
  const thread = c.threads.get(c.arrays["ev.utid"]?.[i] ?? -1);
  const letters = (): string | null => text(c, "ev.flags", i) || null;
  return (name) => {
    switch (name) {
      case "event":
        return text(c, "ev.kind", i);
      case "task":
        return thread?.name ?? text(c, "ev.task", i).replace(/-\d+$/, "");
      case "tid":
        return thread?.tid ?? null;
      case "pid":
        return thread?.pid ?? null;
      case "cpu":
        return c.arrays["ev.cpu"]?.[i] ?? null;
      case "common_flags ~":
        return letters();
      case "common_flags":
        return letters() === null ? null : bits(letters()!);
      case "common_preempt_count":
        return letters() === null ? null : depth(letters()!);
      default: {
        const kind = name.slice(0, Math.max(0, name.lastIndexOf(".")));
        const own = text(c, "ev.kind", i);
        if (kind && kind !== own && kind !== own.split(":").at(-1)) return null;
        return field(text(c, "ev.info", i), name);
      }
    }
  };
}

const kept = new WeakMap<Container, Map<string, Uint32Array | null>>();
const MOST_KEPT = 4;

/** Places of the events that a filter leaves, in order; null: all of them. Throws Refused. */
export function picked(c: Container, filter = ""): Uint32Array | null {
  const known = kept.get(c) ?? new Map<string, Uint32Array | null>();
  kept.set(c, known);
  if (known.has(filter)) return known.get(filter)!;
  const node = parse(filter);
  let found: Uint32Array | null = null;
  if (node) {
    const holds = judge(node);
    const places: number[] = [];
    for (let i = 0; i < (c.arrays["ev.ts"]?.length ?? 0); i++) if (holds(ofEvent(c, i))) places.push(i);
    found = Uint32Array.from(places);
  }
  if (known.size >= MOST_KEPT) known.delete(known.keys().next().value!);
  known.set(filter, found);
  return found;
}

/** Whether a filter may be about what a thread did on a CPU; -1: it is not known on which. */
export type May = (utid: number, cpu: number) => boolean;

/** Null of an empty filter. */
export function may(c: Container, filter = ""): May | null {
  const node = parse(filter);
  if (!node) return null;
  const holds = judge(node);
  return (utid, cpu) => {
    const thread = c.threads.get(utid);
    const known: Record<string, Value | undefined> = { task: thread?.name, tid: thread?.tid, pid: thread?.pid };
    return holds((name) => (name === "cpu" ? (cpu < 0 ? undefined : cpu) : known[name])) !== false;
  };
}
