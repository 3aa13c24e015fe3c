/**
 * Tiles of tracks: what is here, what is on its way, what is no longer wanted.
 *
 * Each frame says what it would like to have, the most urgent first; of that, a few are asked for at a time. What is on
 * its way and was not named again is called off.
 */
import type { Source, Typed } from "../source/types";
import type { Range } from "../time/view";
import { coarser, finer, type Place, rangeOf, TILE } from "./grid";
import { Lru, type Sized } from "./lru";

export interface Tile extends Sized {
  arrays: Record<string, Typed>;
  lanes: number;
  /** Where the recording ended when it was asked for: beyond that it is not final. */
  known: number;
  /** Colours of its slices, made by the one who draws, for one theme. */
  colours?: Uint32Array;
  theme?: number;
  /** Which band of its row each slice is in. */
  bands?: Uint8Array;
}

export interface Wanted {
  track: string;
  op: "slices" | "area";
  place: Place;
}

const MOST_BYTES = 48 << 20;
const AT_ONCE = 16;
const RETRY_MS = 4000;
const COARSER = 10;

const keyOf = (track: string, p: Place): string => `${track} ${p.level} ${p.index}`;

function lanesOf(depth: Typed | undefined): number {
  let deepest = 0;
  if (depth) for (let i = 0; i < depth.length; i++) if (depth[i]! > deepest) deepest = depth[i]!;
  return deepest + 1;
}

export class Tiles {
  private readonly here = new Lru<Tile>(MOST_BYTES);
  private readonly coming = new Map<string, AbortController>();
  private readonly failed = new Map<string, number>();
  private wanted: Wanted[] = [];
  /** The deepest that was seen of a track: its height. */
  private readonly deepest = new Map<string, number>();
  end = 0;
  filter = "";

  constructor(
    private readonly source: Source,
    private readonly changed: (heights: boolean) => void,
  ) {}

  lanes(track: string): number | undefined {
    return this.deepest.get(track);
  }

  get(track: string, place: Place): Tile | undefined {
    return this.here.get(keyOf(track, place));
  }

  /** Whether a tile is as it should be: there, and not of a time when the recording was shorter. */
  fresh(tile: Tile | undefined, place: Place): boolean {
    return tile !== undefined && (tile.known >= rangeOf(place).end || tile.known >= this.end);
  }

  /** The best there is for a place: the tile itself, or a coarser one, with what finer ones there are upon it. */
  best(track: string, place: Place): { tile: Tile; clip: Range }[] {
    const clip = rangeOf(place);
    const own = this.get(track, place);
    if (own) return [{ tile: own, clip }];
    const found: { tile: Tile; clip: Range }[] = [];
    for (let up = 1; up <= COARSER && !found.length; up++) {
      const tile = this.get(track, coarser(place, up));
      if (tile) found.push({ tile, clip });
    }
    for (const half of finer(place)) {
      const tile = this.get(track, half);
      if (tile) found.push({ tile, clip: rangeOf(half) });
    }
    return found;
  }

  /** What the present frame would like to have, the most urgent first. */
  want(wanted: Wanted[]): void {
    this.wanted = wanted;
    const keys = new Set(wanted.map((w) => keyOf(w.track, w.place)));
    for (const [key, control] of this.coming) {
      if (keys.has(key)) continue;
      this.coming.delete(key);
      control.abort();
    }
    this.pump();
  }

  /** Whether there is any. */
  get any(): boolean {
    return this.here.size > 0;
  }

  get waiting(): number {
    return this.coming.size;
  }

  clear(): void {
    for (const control of this.coming.values()) control.abort();
    this.coming.clear();
    this.failed.clear();
    this.here.clear();
  }

  private pump(): void {
    const now = performance.now();
    for (const w of this.wanted) {
      if (this.coming.size >= AT_ONCE) return;
      const key = keyOf(w.track, w.place);
      if (this.coming.has(key) || (this.failed.get(key) ?? 0) > now) continue;
      if (this.fresh(this.here.get(key), w.place)) continue;
      void this.ask(key, w);
    }
  }

  private async ask(key: string, w: Wanted): Promise<void> {
    const control = new AbortController();
    this.coming.set(key, control);
    const known = this.end;
    const args = { track: w.track, ...rangeOf(w.place), width: TILE, ...(this.filter && { filter: this.filter }) };
    try {
      const { arrays } = await this.source.ask(w.op, args, control.signal);
      this.arrived(key, w.track, arrays, known);
    } catch {
      if (!control.signal.aborted) this.failed.set(key, performance.now() + RETRY_MS);
    }
    if (this.coming.get(key) === control) this.coming.delete(key);
    this.pump();
  }

  private arrived(key: string, track: string, arrays: Record<string, Typed>, known: number): void {
    let bytes = 200;
    for (const array of Object.values(arrays)) bytes += array.byteLength;
    const lanes = lanesOf(arrays.depth);
    this.here.set(key, { arrays, bytes, known, lanes });
    const higher = lanes > (this.deepest.get(track) ?? 1);
    if (higher) this.deepest.set(track, lanes);
    this.changed(higher);
  }
}
