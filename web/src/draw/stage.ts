/** Draws the rows of tracks: pixels from tiles, then texts, and says which tiles are wanted. */
import type { Source } from "../source/types";
import type { Tile, Tiles, Wanted } from "../tiles/cache";
import { covering, levelFor, type Place } from "../tiles/grid";
import { ticks } from "../time/ticks";
import { type Range, span } from "../time/view";
import { FLAG, kindOf, STATE, type TrackKind } from "../tracks/kinds";
import { GAP, type Row } from "../tracks/rows";
import { drawLabels, type Label } from "./labels";
import { bandsOf, coloursOf } from "./paint";
import { area, columns, density, type Scale, type Slices, slices } from "./raster";
import { Strip } from "./strip";
import type { Theme } from "./theme";

export interface Scene {
  view: Range;
  all: Range;
  rows: Row[];
  pinned: Row[];
  /** CSS pixels that the rows are scrolled by. */
  scroll: number;
  pinnedHeight: number;
  width: number;
  height: number;
  ratio: number;
  theme: Theme;
  active: string | null;
  fonts: { label: string };
}

const WIDEST = 20;
/** Gaps near an end that is not known, in pixels from it. */
const TORN = [1, 4, 8, 13];

export class Stage {
  private readonly strip = new Strip();
  private labels: Label[] = [];
  private marks: number[] = [];
  private torn: number[] = [];
  private wanted: Wanted[] = [];
  private margin: Wanted[] = [];
  private high = new Float64Array(0);
  private mean = new Float64Array(0);

  constructor(
    private readonly source: Source,
    private readonly tiles: Tiles,
  ) {}

  draw(context: CanvasRenderingContext2D, scene: Scene): void {
    const { ratio, theme } = scene;
    const width = Math.round(scene.width * ratio);
    const height = Math.round(scene.height * ratio);
    const scale: Scale = { start: scene.view.start, perPixel: span(scene.view) / width, width };
    this.begin(width);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, width, height);
    this.grid(context, scene, scale, height);
    this.section(context, scene, scale, scene.rows, scene.pinnedHeight - scene.scroll, scene.pinnedHeight);
    this.finish(context, scene);
    if (scene.pinned.length) this.drawPinned(context, scene, scale, width);
    this.tiles.want([...this.wanted, ...this.margin]);
  }

  /** Pinned rows lie above the others: they are drawn after them, on a ground of their own. */
  private drawPinned(context: CanvasRenderingContext2D, scene: Scene, scale: Scale, width: number): void {
    const bottom = Math.round(scene.pinnedHeight * scene.ratio);
    context.fillStyle = scene.theme.panel;
    context.fillRect(0, 0, width, bottom);
    this.strip.begin(width);
    this.section(context, scene, scale, scene.pinned, 0, 0);
    this.finish(context, scene);
    context.fillStyle = scene.theme.accent;
    context.fillRect(0, bottom - 1, width, 1);
  }

  private begin(width: number): void {
    this.strip.begin(width);
    this.wanted = [];
    this.margin = [];
    if (this.high.length !== width) {
      this.high = new Float64Array(width);
      this.mean = new Float64Array(width);
    }
  }

  private finish(context: CanvasRenderingContext2D, scene: Scene): void {
    const { ratio, theme } = scene;
    this.strip.paint(context);
    context.fillStyle = `rgb(${theme.preempted & 255} ${(theme.preempted >> 8) & 255} ${(theme.preempted >> 16) & 255})`;
    for (let i = 0; i < this.marks.length; i += 3)
      context.fillRect(this.marks[i]! - 2 * ratio, this.marks[i + 1]!, 2 * ratio, this.marks[i + 2]!);
    context.fillStyle = theme.ground;
    for (let i = 0; i < this.torn.length; i += 3)
      context.fillRect(this.torn[i]!, this.torn[i + 1]!, ratio, this.torn[i + 2]!);
    drawLabels(context, this.labels, scene.fonts.label, theme.onSlice);
    this.labels = [];
    this.marks = [];
    this.torn = [];
  }

  private grid(context: CanvasRenderingContext2D, scene: Scene, scale: Scale, height: number): void {
    context.fillStyle = scene.theme.line;
    for (const t of ticks(scene.view.start, scene.view.end, scene.width, 110).at) {
      context.fillRect(Math.round((t - scale.start) / scale.perPixel), 0, 1, height);
    }
  }

  private section(
    context: CanvasRenderingContext2D,
    scene: Scene,
    scale: Scale,
    rows: Row[],
    offset: number,
    top: number,
  ): void {
    const level = levelFor(scale.perPixel);
    const places = covering(scene.view, level, scene.all);
    const beside = covering(
      { start: scene.view.start - 2 ** level * 0.6, end: scene.view.end + 2 ** level * 0.6 },
      level,
      scene.all,
    ).filter((p) => !places.some((q) => q.index === p.index));
    for (const row of rows) {
      const y = row.y + offset;
      if (y + row.height < top) continue;
      if (y > scene.height) break;
      if (row.track) this.row(context, scene, scale, row, y, places, beside);
    }
  }

  private row(
    context: CanvasRenderingContext2D,
    scene: Scene,
    scale: Scale,
    row: Row,
    y: number,
    places: Place[],
    beside: Place[],
  ): void {
    const { ratio, theme } = scene;
    const track = row.track!;
    const kind = kindOf(track.kind);
    const top = Math.round(y * ratio);
    const bottom = Math.round((y + row.height) * ratio);
    if (track.id === scene.active) {
      context.fillStyle = theme.accentFill;
      context.fillRect(0, top, scale.width, bottom - top);
    } else if (kind.op === null) {
      context.fillStyle = theme.panel;
      context.fillRect(0, top, scale.width, bottom - top);
    }
    if (kind.op === null) return;
    context.fillStyle = theme.line;
    context.fillRect(0, bottom - 1, scale.width, 1);
    for (const place of places) this.need(this.wanted, track.id, kind.op, place);
    for (const place of beside) this.need(this.margin, track.id, kind.op, place);
    if (kind.op === "area") this.areaRow(scene, scale, row, kind, top, places);
    else this.sliceRow(scene, scale, row, kind, top, places);
  }

  private need(list: Wanted[], track: string, op: "slices" | "area", place: Place): void {
    if (!this.tiles.fresh(this.tiles.get(track, place), place)) list.push({ track, op, place });
  }

  private sliceRow(scene: Scene, scale: Scale, row: Row, kind: TrackKind, top: number, places: Place[]): void {
    const { ratio } = scene;
    const lanes = this.lanesOf(row, kind, top, ratio);
    const height = Math.round((kind.style === "nested" ? kind.height : row.height - GAP) * ratio);
    const labels = this.labels;
    const { width } = scale;
    for (const place of places) {
      for (const { tile, clip } of this.tiles.best(row.track!.id, place)) {
        const colours = coloursOf(tile, kind.style, scene.theme, this.source);
        const { start, end, depth, count, fill, name, value, kind: flags } = tile.arrays;
        const bands = kind.style === "state" ? bandsOf(tile) : depth;
        const shown = { start, end, depth: bands, count, fill } as Slices;
        slices(this.strip.pixels, lanes, scale, clip, shown, colours, WIDEST * ratio, (i, x0, x1) => {
          const open = kind.style === "nested" ? 0 : (flags?.[i] ?? 0) & (FLAG.openStart | FLAG.openEnd);
          if (open) {
            const begins = open & FLAG.openStart && start![i]! >= Math.max(clip.start, scale.start);
            const ends = open & FLAG.openEnd && end![i]! <= Math.min(clip.end, scale.start + width * scale.perPixel);
            for (const by of TORN) {
              if (begins) this.torn.push(x0 + by * ratio, top + ratio, height - ratio);
              if (ends) this.torn.push(x1 - (by + 1) * ratio, top + ratio, height - ratio);
            }
          }
          // a slice that goes through several tiles has its text once: by the one that it begins in
          if (start![i]! < clip.start && clip.start > scale.start) return;
          if (bands && kind.style === "state" && bands[i]) return;
          const y = top + (kind.style === "nested" ? (depth?.[i] ?? 0) * height : 0);
          if (kind.style === "task" && flags && flags[i]! & FLAG.preempted)
            this.marks.push(x1, y + ratio, height - ratio);
          const runs = kind.style === "state" && (flags?.[i] ?? 0) % 8 === STATE.running;
          const text = runs ? `CPU ${value?.[i]}` : this.source.name(name?.[i] ?? 0);
          if (text) labels.push({ text, x0, x1, y: y + height / 2 + ratio / 2 });
        });
      }
    }
  }

  private lanesOf(row: Row, kind: TrackKind, top: number, ratio: number): number[] {
    const bar = Math.round((row.height - GAP - 2) * ratio);
    if (kind.style === "state") {
      const thin = Math.round(5 * ratio);
      return [this.strip.lane(top + ratio, bar), this.strip.lane(top + Math.round((bar - thin) / 2) + ratio, thin)];
    }
    if (kind.style !== "nested") return [this.strip.lane(top + ratio, bar)];
    const height = Math.round(kind.height * ratio);
    const lanes: number[] = [];
    const count = Math.floor((row.height - GAP) / kind.height);
    for (let d = 0; d < count; d++) lanes.push(this.strip.lane(top + d * height + ratio, height - ratio));
    return lanes;
  }

  private areaRow(scene: Scene, scale: Scale, row: Row, kind: TrackKind, top: number, places: Place[]): void {
    const { ratio, theme } = scene;
    const height = Math.round((row.height - GAP - 2) * ratio);
    this.high.fill(Number.NaN);
    this.mean.fill(0);
    for (const place of places) {
      for (const { tile, clip } of this.tiles.best(row.track!.id, place)) this.addColumns(scale, clip, tile);
    }
    const [least, most] = this.bounds(row);
    if (kind.style === "density") {
      const base = this.strip.lane(top + ratio, height);
      density(this.strip.pixels, base, scale.width, this.high, most, theme.hues[row.track!.kind === "event" ? 4 : 1]!);
      return;
    }
    const base = this.strip.lane(top + ratio, height, height);
    const colours = { fill: theme.area, top: theme.areaTop, pale: ((theme.area & 0xffffff) | 0x50000000) >>> 0 };
    area(this.strip.pixels, base, scale.width, height, { high: this.high, mean: this.mean }, [least, most], colours);
  }

  private addColumns(scale: Scale, clip: Range, tile: Tile): void {
    const { at, high, mean } = tile.arrays as Record<string, Float64Array>;
    if (at && high && mean) columns(scale, clip, { at, high, mean }, this.high, this.mean);
  }

  /** Shares of a CPU go to 1 at least; counters have what they were seen to be; else what is on the screen. */
  private bounds(row: Row): [number, number] {
    const { kind, min, max } = row.track!;
    let most = max ?? 0;
    let least = Math.min(0, min ?? 0);
    if (min === undefined) for (const value of this.mean) if (value < least) least = value;
    if (max === undefined || kind === "process" || kind === "event" || kind === "sample") {
      for (const value of this.high) if (value > most) most = value;
    }
    return [least, kind === "process" ? Math.max(1, most) : most];
  }
}
