/** Filters as a report understands them: the same grammar, and the same answers, as the server's. */
import { describe, expect, it } from "vitest";
import { FileSource } from "../src/source/file";
import { contain } from "../src/source/report/container";
import { bits, field, glob } from "../src/source/report/filter";
import { parse } from "../src/source/report/parse";
import { type Head, Refused } from "../src/source/types";
import { encode } from "../src/source/wire";

const f64 = (...n: number[]): Float64Array => new Float64Array(n);
const u32 = (...n: number[]): Uint32Array => new Uint32Array(n);
const i32 = (...n: number[]): Int32Array => new Int32Array(n);

const names = [
  ...["", "bash", "sh-x", "sched:sched_switch", "irq:softirq_entry", "prev_pid=7 prev_comm=a b next_pid=0x1f"],
  ...["vec=1", "bash-12", "sh-x-13", "d..2.", ".Nh..", "read", "write"],
];
const head: Head = {
  open: { recordings: [], losses: [], start: 0, end: 1000 },
  names: Object.fromEntries(names.map((n, i) => [i, n])),
  tracks: [
    { id: "cpu:0:0", kind: "cpu", name: "CPU 0", parent: null, children: 0, cpu: 0 },
    { id: "thread:0:1", kind: "thread", name: "bash", parent: null, children: 1, utid: 1 },
    { id: "syscall:0:1", kind: "syscall", name: "system calls", parent: "thread:0:1", children: 0 },
  ],
  tiles: {
    "cpu:0:0": { kind: "slices", levels: [{ key: "a", pixel: 1 }] },
    "syscall:0:1": { kind: "slices", levels: [{ key: "b", pixel: 1 }] },
  },
  threads: { 1: [1, 12, 10, "thread:0:1"], 2: [2, 13, 13, "thread:0:2"] },
};
const arrays = {
  "ev.id": f64(0, 1, 2, 3),
  "ev.ts": f64(0, 100, 200, 300),
  "ev.cpu": i32(0, 1, 0, 3),
  "ev.task": u32(7, 8, 7, 8),
  "ev.kind": u32(3, 4, 3, 4),
  "ev.info": u32(5, 6, 5, 6),
  "ev.utid": u32(1, 2, 1, 2),
  "ev.flags": u32(9, 10, 9, 10),
  "a.start": f64(0, 100),
  "a.end": f64(100, 300),
  "a.value": u32(1, 2),
  "a.name": u32(1, 2),
  "a.count": u32(1, 1),
  "b.start": f64(0, 100, 200, 210),
  "b.end": f64(10, 140, 210, 230),
  "b.name": u32(11, 12, 11, 11),
  "b.kind": new Uint8Array([0, 0, 0x40, 0]),
  "b.count": u32(1, 1, 1, 5),
  "lost.at": f64(150, 160, 990),
  "lost.cpu": i32(0, 1, 0),
  "lost.recording": i32(0, 0, 0),
  "lost.count": f64(4, Number.NaN, 2),
};
const source = new FileSource(contain(encode(head, arrays)));
const ask = async (op: string, args: object): Promise<Head> => (await source.ask<Head>(op, args)).head;
const left = async (filter: string): Promise<number[]> =>
  ((await ask("events", { filter, offset: 0, limit: 9 })).rows as number[][]).map((r) => r[0]!);

describe("filters of a report", () => {
  it.each([
    ["", [0, 1, 2, 3]],
    ["task == bash", [0, 2]],
    ["comm != bash", [1, 3]],
    ["pid == 10 or tid = 13 and cpu in 2-9", [0, 2, 3]],
    ["not (pid == 10) && cpu in 0,1", [1]],
    ["event == sched_switch", [0, 2]],
    ['event ~ "irq:*"', [1, 3]],
    ["event !~ softirq*", [0, 2]],
    ["event != softirq_entry", [0, 2]],
    ["prev_pid == 7", [0, 2]],
    ["prev_pid > 07", []],
    ["next_pid == 31", [0, 2]],
    ["next_pid & 0x10 and sched_switch.prev_pid <= 7", [0, 2]],
    ["irq:softirq_entry.prev_pid == 7", []],
    ['prev_comm == "a b"', [0, 2]],
    ["not vec == 1", [0, 2]],
    ["no_such == 1", []],
    ['common_flags ~ "d*"', [0, 2]],
    ["common_flags & 12", [1, 3]],
    ["common_preempt_count == 2", [0, 2]],
    ["! cpu in 0", [1, 3]],
  ])("%s", async (filter, want) => expect(await left(filter)).toEqual(want));

  it.each([
    ["task ==", 7],
    ["task == 'x", 8],
    ["(cpu in 1", 0],
    ["cpu 1", 4],
    ["cpu == 1 pid == 2", 9],
    ["period == 3", 0],
    ["== 3", 0],
    ["task == $, x", 9],
  ])("%s is wrong at %d", async (filter, at) => {
    const found = await ask("check", { filter }).then(
      () => null,
      (e: unknown) => e,
    );
    expect(found).toBeInstanceOf(Refused);
    expect((found as Refused).at).toBe(at);
  });

  it("nests, but not without end", () => {
    expect(parse(`${"(".repeat(60)}cpu in 1${")".repeat(60)}`)).toMatchObject({ name: "cpu" });
    expect(() => parse(`${"(".repeat(9000)}cpu in 1${")".repeat(9000)}`)).toThrow("too deeply");
  });

  it("leave rows of the list by their places", async () => {
    const filter = "tid == 13";
    expect((await ask("locate", { ts: 150, filter })).row).toBe(1);
    expect((await ask("row_of", { id: 3, filter })).row).toBe(1);
    expect((await ask("row_of", { id: 2, filter })).row).toBe(-1);
    expect((await ask("count", { text: "softirq", kind: "event", filter })).count).toBe(2);
    const forth = { text: "bash", kind: "task", from: 0, forward: true };
    expect(await ask("find", { ...forth, filter })).toEqual({ none: true });
    expect(await ask("find", { ...forth, from: 250, forward: false, filter: "" })).toMatchObject({ thing: 2 });
  });

  it("leave slices of who may be meant", async () => {
    const args = { track: "cpu:0:0", start: 0, end: 1000, width: 1000 };
    const starts = async (filter: string): Promise<number[]> => [
      ...(await source.ask("slices", { ...args, filter })).arrays.start!,
    ];
    expect(await starts("task == bash")).toEqual([0]);
    expect(await starts("not task == bash")).toEqual([100]);
    expect(await starts("cpu in 1")).toEqual([]);
    // slices are no events: a condition on those leaves none out
    expect(await starts("event == sched_switch or prev_pid == 9")).toEqual([0, 100]);
    expect(await starts("not event == sched_switch")).toEqual([0, 100]);
  });

  it("tell patterns and fields", () => {
    expect(["a.c", "abc", "a\nc"].map((t) => glob("a?c").test(t))).toEqual([true, true, true]);
    expect(["x]", "b", "c"].map((t) => glob("[!ab]*").test(t))).toEqual([true, false, true]);
    expect(glob("(a+)+$").test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")).toBe(false);
    expect(field("comm=a pid=1 comm2=b", "comm2")).toBe("b");
    expect(field("comm=a pid=1", "omm")).toBeNull();
    expect([bits("dNH.."), bits("X.s.."), bits("")]).toEqual([29, 18, 0]);
  });
});

describe("a report", () => {
  it("has a histogram of the system calls that it has one by one", async () => {
    const { head: said, arrays: bars } = await source.ask<Head>("select", {
      ...{ what: "syscall_latency", start: 0, end: 1000, tracks: null },
    });
    expect(said).toMatchObject({ max: 40, about: "of system calls; 5 more are in this report only as sums" });
    expect([...bars.counts!]).toEqual([1, 0, 1]);
    expect(
      (await ask("select", { what: "syscall_latency", start: 0, end: 1000, tracks: null, filter: "tid == 13" })).max,
    ).toBeUndefined();
  });
  it("counts events", async () => {
    const args = { start: 0, end: 1000, tracks: null };
    expect((await ask("select", { ...args, what: "kinds" })).rows).toEqual([
      ["sched:sched_switch", 2, 50, 0, 200],
      ["irq:softirq_entry", 2, 50, 100, 300],
    ]);
    expect((await ask("select", { ...args, what: "cpus", filter: "tid == 13" })).rows).toEqual([
      [1, 1, 50, 100, 100],
      [3, 1, 50, 300, 300],
    ]);
    expect((await ask("select", { ...args, end: 150, what: "tasks", tracks: ["thread:0:1"] })).rows).toEqual([
      ["bash-12", 1, 100, 0, 0],
    ]);
  });
  it("marks where events are missing, on the page that they are on", async () => {
    const lost = async (offset: number, limit: number, filter = ""): Promise<unknown> =>
      (await ask("events", { offset, limit, filter })).lost;
    expect(await lost(0, 2)).toEqual([]);
    expect(await lost(2, 1)).toEqual([
      [0, 0, 4, 150],
      [0, 1, null, 160],
    ]);
    expect(await lost(3, 9)).toEqual([[0, 0, 2, 990]]);
    expect(await lost(1, 1, "tid == 13")).toEqual([
      [0, 0, 4, 150],
      [0, 1, null, 160],
      [0, 0, 2, 990],
    ]);
    const { arrays: seen } = await source.ask("lost", { start: 155, end: 900, width: 9 });
    expect([...seen.at!]).toEqual([160]);
  });
});
