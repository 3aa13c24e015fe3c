import { describe, expect, it } from "vitest";
import { layout as arrows } from "../src/draw/arrows";
import { contrast, hash, oklch, pack, palette } from "../src/draw/colours";
import { shorten } from "../src/draw/labels";
import { area, columns, slices } from "../src/draw/raster";
import { THEMES } from "../src/draw/theme";
import { boxes, type Flame } from "../src/flame/layout";
import { COMMANDS } from "../src/input/commands";
import { fuzzy, keyText, lookUp } from "../src/input/keymap";
import { both, ofTrack, quote } from "../src/lang/filter";
import { fieldPlot, identifier, latencyPlot } from "../src/lang/plots";
import { oneLine, parse, visible } from "../src/source/text";
import { decode, encode } from "../src/source/wire";
import { fromHash, toHash } from "../src/state/hash";
import { fromSession, toSession } from "../src/state/session";
import { FRESH, type State } from "../src/state/state";
import { coarser, covering, finer, levelFor, rangeOf } from "../src/tiles/grid";
import { hit } from "../src/tiles/hit";
import { Lru } from "../src/tiles/lru";
import { count, duration, exact, seconds } from "../src/time/format";
import { niceStep, ticks } from "../src/time/ticks";
import { clamp, pan, reveal, zoom } from "../src/time/view";
import { heightOf, rowAt } from "../src/tracks/rows";
import { pointing } from "../src/ui/parts";

describe("times", () => {
  it.each([
    [0, "0 ns"],
    [12, "12 ns"],
    [999.96e3, "1.00 ms"],
    [3420, "3.42 µs"],
    [125e6, "125 ms"],
    [2.5e9, "2.50 s"],
    [125e9, "2 min 5 s"],
    [-1500, "-1.50 µs"],
    [Number.NaN, "?"],
  ])("duration of %d ns", (ns, text) => expect(duration(ns)).toBe(text));

  it("has the digits that a step needs", () => {
    expect(seconds(12_345_678_901, 1e9)).toBe("12");
    expect(seconds(12_345_678_901, 1e3)).toBe("12.345679");
    expect(exact(12_345_678_901)).toBe("12.345678901 s");
    expect(seconds(-1_500_000_000, 1e8)).toBe("-1.5");
    expect(count(1234567)).toBe("1,234,567");
  });

  it("marks a ruler with round steps that have room", () => {
    expect(niceStep(3)).toBe(5);
    expect(niceStep(50)).toBe(50);
    expect(ticks(0, 1000, 1000, 100)).toEqual({
      step: 100,
      at: [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000],
    });
  });

  it("zooms around a time that stays, and is held to the recording", () => {
    expect(zoom({ start: 0, end: 100 }, 0.5, 50)).toEqual({ start: 25, end: 75 });
    expect(zoom({ start: 0, end: 100 }, 0.5, 0)).toEqual({ start: 0, end: 50 });
    expect(pan({ start: 0, end: 10 }, 5)).toEqual({ start: 5, end: 15 });
    const all = { start: 0, end: 1000 };
    expect(clamp({ start: -5000, end: 5000 }, all).end - clamp({ start: -5000, end: 5000 }, all).start).toBeCloseTo(
      1040,
    );
    expect(clamp({ start: 5000, end: 5100 }, all)).toEqual({ start: 950, end: 1050 });
    expect(reveal({ start: 0, end: 100 }, 50)).toEqual({ start: 0, end: 100 });
    expect(reveal({ start: 0, end: 100 }, 500)).toEqual({ start: 450, end: 550 });
  });
});

describe("tiles", () => {
  it("are between half of 1024 and 1024 pixels wide", () => {
    for (const scale of [0.3, 1, 17, 1000, 1e7]) {
      const pixels = 2 ** levelFor(scale) / scale;
      expect(pixels).toBeLessThanOrEqual(1024);
      if (scale > 0.2) expect(pixels).toBeGreaterThan(512);
    }
  });
  it("cover a view, but nothing beside the recording", () => {
    expect(covering({ start: 100, end: 300 }, 6, { start: 0, end: 1e6 }).map((p) => p.index)).toEqual([1, 2, 3, 4]);
    expect(covering({ start: -100, end: 300 }, 7, { start: 0, end: 200 }).map((p) => p.index)).toEqual([0, 1]);
  });
  it("lie inside of coarser ones and are made of finer ones", () => {
    const p = { level: 10, index: 5 };
    expect(rangeOf(coarser(p, 1))).toEqual({ start: 4096, end: 6144 });
    expect(finer(p).map((f) => rangeOf(f).start)).toEqual([5120, 5632]);
  });
  it("leave when too many came after them", () => {
    const lru = new Lru<{ bytes: number }>(100);
    lru.set("a", { bytes: 40 });
    lru.set("b", { bytes: 40 });
    lru.get("a");
    lru.set("c", { bytes: 40 });
    expect([lru.get("a"), lru.get("b"), lru.get("c")].map((x) => x !== undefined)).toEqual([true, false, true]);
    expect(lru.size).toBe(80);
  });
  it("are hit where the pointer is", () => {
    const arrays = { start: new Float64Array([0, 10, 12]), end: new Float64Array([9, 30, 15]) };
    expect(hit(arrays, 13, null, 0)?.i).toBe(2);
    expect(hit(arrays, 20, null, 0)?.i).toBe(1);
    expect(hit(arrays, 9.5, null, 0)).toBeNull();
    expect(hit(arrays, 9.5, null, 1)).not.toBeNull();
    expect(hit({ ...arrays, depth: new Uint8Array([0, 0, 1]) }, 13, 0, 0)?.i).toBe(1);
  });
});

describe("pixels", () => {
  const scale = { start: 0, perPixel: 10, width: 10 };
  const paint = (start: number[], end: number[], more = {}): number[] => {
    const out = new Uint32Array(10);
    const tile = { start: new Float64Array(start), end: new Float64Array(end), ...more };
    const colours = new Uint32Array(start.length).map((_, i) => (0xff000001 + i) >>> 0);
    slices(out, [0], scale, { start: 0, end: 100 }, tile, colours, 3, () => {});
    return [...out].map((p) => p && p & 0xff);
  };
  it("of a slice are those that it covers, but for a border between wide ones", () => {
    expect(paint([0, 50], [50, 100])).toEqual([1, 1, 1, 1, 0, 2, 2, 2, 2, 2]);
    expect(paint([20], [30])).toEqual([0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  });
  it("of a slice that is less than a pixel are seen, the paler the shorter", () => {
    const out = new Uint32Array(10);
    const tile = { start: new Float64Array([21, 51]), end: new Float64Array([22, 59]) };
    slices(out, [0], scale, { start: 0, end: 100 }, tile, new Uint32Array([0xff000001, 0xff000001]), 3, () => {});
    expect(out[2]! >>> 24).toBeGreaterThan(60);
    expect(out[5]! >>> 24).toBeGreaterThan(out[2]! >>> 24);
  });
  it("of a tile stay inside of it", () => {
    const out = new Uint32Array(10);
    const tile = { start: new Float64Array([0]), end: new Float64Array([100]) };
    slices(out, [0], scale, { start: 30, end: 60 }, tile, new Uint32Array([0xff000001]), 3, () => {});
    expect([...out].map((p) => (p ? 1 : 0))).toEqual([0, 0, 0, 1, 1, 1, 0, 0, 0, 0]);
  });
  it("of an area hold the highest and the mean, and the last value where there is no other", () => {
    const high = new Float64Array(10).fill(Number.NaN);
    const mean = new Float64Array(10);
    const given = new Float64Array([0, 5, 30]);
    columns(
      scale,
      { start: 0, end: 100 },
      { at: given, high: new Float64Array([1, 3, 7]), mean: new Float64Array([1, 3, 7]) },
      high,
      mean,
    );
    expect([...high.slice(0, 5)]).toEqual([3, 3, 3, 7, 7]);
    expect(mean[0]).toBe(2);
    const out = new Uint32Array(40);
    area(out, 0, 10, 4, { high, mean }, [0, 7], { fill: 1, top: 2, pale: 3 });
    expect([out[3], out[13], out[23], out[33]]).toEqual([2, 1, 1, 1]);
  });
  it("of an area hang down where values are below 0, and stay in their row", () => {
    const mean = new Float64Array([-1, 0, 2, -1]);
    const high = new Float64Array([-1, 0, 2, 2]);
    const drawn = (bounds: [number, number]): number[][] => {
      const out = new Uint32Array(4 * 5);
      area(out, 4, 4, 3, { high, mean }, bounds, { fill: 1, top: 2, pale: 3 });
      return [0, 1, 2, 3].map((x) => [0, 1, 2, 3, 4].map((y) => out[4 * y + x]!));
    };
    expect(drawn([-1, 2])).toEqual([
      [0, 0, 0, 2, 0],
      [0, 0, 0, 0, 0],
      [0, 2, 1, 0, 0],
      [0, 3, 3, 2, 0],
    ]);
    // a value below what was said to be the least takes nothing of the next row
    expect(drawn([0, 2])[0]).toEqual([0, 0, 0, 0, 0]);
    expect(drawn([0, 2])[3]).toEqual([0, 3, 3, 3, 0]);
  });
  it("fits a text, or leaves it out", () => {
    expect(shorten("kworker", 70, 80)).toBe("kworker");
    expect(shorten("kworker", 70, 40)).toBe("kwo…");
    expect(shorten("kworker", 70, 20)).toBe("");
  });
});

describe("colours", () => {
  it("are those of OKLCH", () => {
    expect(oklch(1, 0, 0)).toEqual([255, 255, 255]);
    expect(oklch(0.627955, 0.257683, 29.2339)).toEqual([255, 0, 0]);
    expect(pack(1, 2, 3)).toBe(0xff030201);
    expect(hash("a")).not.toBe(hash("b"));
  });
  it("let the text on them be read", () => {
    const hex = (css: string): number =>
      pack(...([1, 3, 5].map((i) => Number.parseInt(css.slice(i, i + 2), 16)) as [number, number, number]));
    for (const theme of Object.values(THEMES)) {
      for (const hue of [...theme.hues, ...theme.cpus, theme.woken, theme.preempted, theme.runnable])
        expect(contrast(hue, hex(theme.onSlice))).toBeGreaterThan(4.5);
      for (const text of [theme.ink, theme.dim, theme.accent]) {
        expect(contrast(hex(text), hex(theme.ground))).toBeGreaterThan(4.5);
        expect(contrast(hex(text), hex(theme.panel))).toBeGreaterThan(4.5);
      }
    }
    expect(new Set(palette(0.74, 0.1)).size).toBe(24);
  });
});

describe("what was chosen", () => {
  const state: State = {
    ...FRESH,
    view: { start: 12, end: 3400.5 },
    selection: { start: 1, end: 2, tracks: ["cpu:0:1", "thread:0:7"] },
    a: 5,
    pins: ["thread:0:7"],
    open: { "process:0:1": true, "group:0:cpus": false },
    filter: 'task == "a&b=c#%d" and cpu in 0,2',
    tab: "flame",
    sql: "select 1 -- ü\nfrom x",
    arrows: false,
    plots: [{ title: "a", sql: 'select ts, 1 as "x,y"' }],
    absolute: true,
  };
  it("comes back out of an address", () => {
    expect({ ...FRESH, ...fromHash(`#${toHash(state)}`) }).toEqual(state);
    expect(toHash(FRESH)).toBe("");
  });
  it("is left as it is where an address is nonsense", () => {
    expect(fromHash("#v=9,1&t=nonsense&a=x&p=%E0%A4%A&s=1&__proto__=1&=2")).toEqual({});
  });
  it("comes back out of a file, and of ours only", () => {
    const opened = { recordings: [{ path: "a", events: 1 }] } as never;
    expect({ ...FRESH, ...fromSession(toSession(state, opened)) }).toEqual(state);
    expect(() => fromSession("{}")).toThrow("not a session");
    expect(() => fromSession("x")).toThrow("not JSON");
  });
});

describe("text", () => {
  it("shows control characters and turns of direction", () => {
    expect(visible("a\u001b[31mb\u202ec\td\n")).toBe("a␛[31mb\ufffdc\td\n");
    expect(oneLine("a\n\tb")).toBe("a␊␉b");
    expect(parse('{"a":"\\u001b<b>","n":[1,"x\\u007f"]}')).toEqual({ a: "␛<b>", n: [1, "x␡"] });
  });
  it("is quoted for filters", () => {
    expect(quote('a"b\\c')).toBe('"a\\"b\\\\c"');
    expect(both("a", "b or c")).toBe("(a) and (b or c)");
    expect(both("", "b")).toBe("b");
    expect(ofTrack({ kind: "cpu", name: "CPU 3", cpu: 3 })).toBe("cpu in 3");
    expect(ofTrack({ kind: "process", name: 'x"', pid: 12 })).toBe("pid == 12");
  });
  it("is quoted for plots", () => {
    expect(identifier('a"b')).toBe('"a""b"');
    expect(fieldPlot("sched:sched_switch", "prev_prio")).toBe(
      'select ts, "prev_prio" as value from "sched:sched_switch" order by ts',
    );
    expect(latencyPlot("a", "b", "pid", "next_pid")).toContain('asof join "b" b on a."pid" = b."next_pid"');
  });
  it("points at what is wrong", () => expect(pointing("select\nfrm x", 7)).toBe("frm x\n^"));
});

describe("the wire", () => {
  it("brings back what was sent", () => {
    const arrays = {
      t: new Float64Array([1.5, 2]),
      n: new Uint8Array([1, 2, 3]),
      u: new Uint32Array([7]),
      i: new Int32Array([-1]),
    };
    const { head, arrays: got } = decode(encode({ id: 1, ok: true, text: "ü" }, arrays));
    expect(head).toMatchObject({ id: 1, ok: true, text: "ü" });
    expect(got).toEqual(arrays);
  });
});

describe("keys", () => {
  const press = (key: string, more = {}): string =>
    keyText({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });
  it("are named as in the table", () => {
    expect(press("?", { shiftKey: true })).toBe("?");
    expect(press("p", { ctrlKey: true, shiftKey: true })).toBe("Ctrl+Shift+P");
    expect(press("k", { metaKey: true })).toBe("Ctrl+K");
    expect(press(" ")).toBe("Space");
    expect(press("Tab", { shiftKey: true })).toBe("Shift+Tab");
  });
  it("belong to one command each", () => {
    const keys = COMMANDS.flatMap((c) => c.keys);
    expect(new Set(keys).size).toBe(keys.length);
    expect(lookUp(COMMANDS).get("Ctrl+Shift+P")?.title).toBe("Commands");
  });
  it("find a command by some of its letters", () => {
    expect(fuzzy("mrk a", "Set marker A")).toBeGreaterThan(0);
    expect(fuzzy("marker", "Set marker A")).toBeGreaterThan(fuzzy("mkr", "Set marker A"));
    expect(fuzzy("xyz", "Set marker A")).toBe(0);
  });
});

describe("rows", () => {
  it("are found by their height", () => {
    const rows = [0, 20, 50].map((y) => ({ y, height: 20 })) as never[];
    expect([rowAt(rows, 0), rowAt(rows, 19), rowAt(rows, 20), rowAt(rows, 500), rowAt([], 3)]).toEqual([
      0, 0, 1, 2, -1,
    ]);
    const track = { id: "f", kind: "func", name: "", parent: null, children: 0 };
    expect(heightOf({ ...track, lanes: 3 })).toBe(16 * 3 + 4);
    expect(heightOf({ ...track, lanes: 1000 })).toBe(16 * 24 + 4);
  });
});

describe("flame graphs", () => {
  //  all 10 ─ main 8 ─ parse 4, write 4;  other 2
  const tree: Flame = {
    parent: new Int32Array([-1, 0, 1, 1, 0]),
    frame: new Uint32Array([0, 1, 2, 3, 4]),
    self: new Float64Array([0, 0, 4, 4, 2]),
    total: new Float64Array([10, 8, 4, 4, 2]),
  };
  const place = (zoomed: number): Record<number, [number, number, number]> =>
    Object.fromEntries(boxes(tree, zoomed, 0).map((b) => [b.node, [b.depth, b.x0, b.x1]]));
  it("give each frame its share of its parent", () => {
    expect(place(-1)).toEqual({ 0: [0, 0, 1], 1: [1, 0, 0.8], 2: [2, 0, 0.4], 3: [2, 0.4, 0.8], 4: [1, 0.8, 1] });
  });
  it("show a frame at full width below those that called it", () => {
    expect(place(1)).toEqual({ 0: [0, 0, 1], 1: [1, 0, 1], 2: [2, 0, 0.5], 3: [2, 0.5, 1] });
  });
  it("leave out what cannot be seen", () => expect(boxes(tree, -1, 0.3)).toHaveLength(4));
});

describe("arrows", () => {
  it("go from row to row where both are shown", () => {
    const one = { at: [10], from: [1], from_cpu: [0], to: [2], to_cpu: [1], run: [20] };
    const w = {
      at: new Float64Array(one.at),
      from: new Uint32Array(one.from),
      from_cpu: new Int32Array(one.from_cpu),
      to: new Uint32Array(one.to),
      to_cpu: new Int32Array(one.to_cpu),
      run: new Float64Array(one.run),
    };
    const rows = new Map([
      ["t1", 5],
      ["t2", 25],
      ["c0", 100],
    ]);
    expect(arrows(w, { start: 0, end: 100 }, 200, rows)).toEqual([{ x0: 20, y0: 5, x1: 40, y1: 25 }]);
  });
});
