/** A report in one file, made by hand: two CPUs, two threads, four events, three samples, two wake-ups. */
import { describe, expect, it } from "vitest";
import { FileSource } from "../src/source/file";
import { contain } from "../src/source/report/container";
import { histogram } from "../src/source/report/sums";
import type { Head, Typed } from "../src/source/types";
import { encode } from "../src/source/wire";

const f64 = (...n: number[]): Float64Array => new Float64Array(n);
const u32 = (...n: number[]): Uint32Array => new Uint32Array(n);
const i32 = (...n: number[]): Int32Array => new Int32Array(n);

const level = (
  key: string,
  start: number[],
  end: number[],
  name: number[],
  count?: number[],
): Record<string, Typed> => ({
  [`${key}.start`]: f64(...start),
  [`${key}.end`]: f64(...end),
  [`${key}.name`]: u32(...name),
  [`${key}.value`]: u32(...name),
  [`${key}.count`]: u32(...(count ?? start.map(() => 1))),
});

const head: Head = {
  open: { recordings: [], losses: [], start: 0, end: 1000 },
  cut: "only half",
  names: { 1: "bash", 2: "sh\u001b[0m", 3: "sched:sched_switch", 4: "prev=1", 5: "main", 6: "read" },
  tracks: [
    { id: "group:0:cpus", kind: "group", name: "CPUs", parent: null, children: 1 },
    { id: "cpu:0:0", kind: "cpu", name: "CPU 0", parent: "group:0:cpus", children: 0, cpu: 0 },
    { id: "thread:0:1", kind: "thread", name: "bash", sub: "12", parent: null, children: 0, utid: 1 },
  ],
  tiles: {
    "cpu:0:0": {
      kind: "slices",
      levels: [
        { key: "t0l0", pixel: 1 },
        { key: "t0l1", pixel: 100 },
      ],
    },
  },
  events: { total: 4 },
  threads: { 1: [1, 12, 12, "thread:0:1"], 2: [2, 13, 13, "thread:0:2"] },
};

const arrays = {
  ...level("t0l0", [0, 100, 300], [100, 300, 400], [1, 2, 1]),
  ...level("t0l1", [0], [400], [1], [3]),
  "ev.id": f64(0, 1, 2, 3),
  "ev.ts": f64(0, 100, 100, 300),
  "ev.cpu": i32(0, 0, 0, 0),
  "ev.task": u32(1, 2, 1, 1),
  "ev.kind": u32(3, 3, 3, 3),
  "ev.info": u32(4, 4, 4, 4),
  "ev.utid": u32(1, 2, 1, 1),
  "frame.name": u32(5, 6),
  "site.parent": i32(-1, 0),
  "site.frame": u32(0, 1),
  "sample.ts": f64(10, 20, 500),
  "sample.utid": u32(1, 2, 1),
  "sample.cpu": i32(0, 0, 0),
  "sample.site": i32(1, 0, 1),
  "sample.weight": f64(3, 4, 100),
  "wake.at": f64(90, 250),
  "wake.from": u32(1, 2),
  "wake.from_cpu": i32(0, 0),
  "wake.to": u32(2, 1),
  "wake.to_cpu": i32(0, 0),
  "wake.run": f64(100, 300),
  "wake.latency": f64(10, 50),
  "wake.id": f64(0, 1),
};

const source = new FileSource(contain(encode(head, arrays)));
const ask = async (op: string, args: object): Promise<Head> => (await source.ask<Head>(op, args)).head;
const drawn = async (op: string, args: object): Promise<Record<string, number[]>> => {
  const { arrays: got } = await source.ask(op, args);
  return Object.fromEntries(Object.entries(got).map(([name, array]) => [name, [...array]]));
};

describe("a report", () => {
  it("tells what was cut, and shows control characters as symbols", async () => {
    expect((await ask("open", {})).cut).toBe("only half");
    expect(source.name(2)).toBe("sh␛[0m");
  });
  it("has tracks by their parents, names and ids", async () => {
    const ids = async (args: object): Promise<unknown> =>
      ((await ask("tracks", args)).tracks as { id: string }[]).map((t) => t.id);
    expect(await ids({ parent: null })).toEqual(["group:0:cpus", "thread:0:1"]);
    expect(await ids({ parent: "group:0:cpus" })).toEqual(["cpu:0:0"]);
    expect(await ids({ find: "BASH" })).toEqual(["thread:0:1"]);
    expect(((await ask("tracks", { ids: ["thread:0:1"] })).tracks as { index: number }[])[0]!.index).toBe(1);
  });
  it("draws from the coarsest level that is fine enough", async () => {
    const args = { track: "cpu:0:0", start: 90, end: 250 };
    expect((await drawn("slices", { ...args, width: 100 })).start).toEqual([0, 100]);
    expect((await drawn("slices", { ...args, width: 1 })).count).toEqual([3]);
    expect((await drawn("slices", { ...args, width: 100_000 })).name).toEqual([1, 2]);
    expect(await drawn("slices", { ...args, track: "cpu:0:9", width: 1 })).toEqual({});
  });
  it("lists events and finds them", async () => {
    expect((await ask("events", { offset: 1, limit: 1 })).rows).toEqual([
      [1, 100, 0, "sh␛[0m", "sched:sched_switch", "prev=1", 2],
    ]);
    expect((await ask("locate", { ts: 100 })).row).toBe(1);
    expect((await ask("row_of", { id: 3 })).row).toBe(3);
    expect(await ask("find", { text: "bash", kind: "task", from: 0, forward: true })).toMatchObject({
      ts: 100,
      thing: 2,
      track: "thread:0:1",
    });
    expect(await ask("find", { text: "bash", kind: "task", from: 100, forward: false })).toMatchObject({
      ts: 0,
      thing: 0,
    });
    expect(await ask("find", { text: "bash", kind: "task", from: 900, forward: true })).toEqual({ none: true });
    expect((await ask("count", { text: "sh", kind: "task" })).count).toBe(4);
  });
  it("adds up stacks, of a range and of threads", async () => {
    const args = { what: "flame", start: 0, end: 100, tracks: null };
    expect(await drawn("select", args)).toEqual({ parent: [-1, 0], frame: [5, 6], self: [4, 3], total: [7, 3] });
    expect((await drawn("select", { ...args, tracks: ["thread:0:1"] })).total).toEqual([3, 3]);
  });
  it("has wake-ups as arrows and as a histogram", async () => {
    expect((await drawn("arrows", { start: 0, end: 200, limit: 9 })).to).toEqual([2]);
    expect((await ask("arrows", { start: 0, end: 1000, limit: 1 })).many).toBe(2);
    expect(await ask("select", { what: "latency", start: 0, end: 1000, tracks: null })).toMatchObject({
      p50: 10,
      max: 50,
    });
  });
  it("adds up who ran", async () => {
    const { rows } = await ask("select", { what: "top", start: 50, end: 350, tracks: null });
    expect(rows).toEqual([
      ["sh␛[0m 13", 1, 200, 200 / 300],
      ["bash 12", 2, 100, 100 / 300],
    ]);
  });
  it("steps from slice to slice", async () => {
    expect(await ask("step", { track: "cpu:0:0", ts: 0, forward: true })).toMatchObject({ start: 100, end: 300 });
    expect(await ask("step", { track: "cpu:0:0", ts: 0, forward: false })).toEqual({ none: true });
  });
  it("has no tables", () => expect(ask("sql", { sql: "select 1" })).rejects.toThrow("no tables"));
});

describe("a histogram", () => {
  it("has powers of two", () => {
    const { head: figures, arrays: bars } = histogram([1, 3, 3, 8], "");
    expect([...bars.edges!]).toEqual([1, 2, 4, 8, 16]);
    expect([...bars.counts!]).toEqual([1, 2, 0, 1]);
    expect(figures).toMatchObject({ p50: 3, p99: 8, max: 8 });
  });
});
