/** The colour of each slice of a tile: made once for each theme, then looked up by every frame. */
import type { Source, Typed } from "../source/types";
import type { Tile } from "../tiles/cache";
import { FLAG, STATE, type Style } from "../tracks/kinds";
import { HUES, hash } from "./colours";
import type { Theme } from "./theme";

const of = (array: Typed | undefined, i: number): number => (array ? array[i]! : 0);

function stateColour(theme: Theme, kind: number, cpu: number): number {
  switch (kind & STATE.mask) {
    case STATE.running:
      return theme.cpus[cpu % theme.cpus.length]!;
    case STATE.runnable:
      if (kind & FLAG.preempted) return theme.preempted;
      return kind & FLAG.woken ? theme.woken : theme.runnable;
    case STATE.sleeping:
      return theme.sleeping;
    case STATE.blocked:
      return theme.blocked;
    case STATE.stopped:
      return theme.stopped;
    case STATE.dead:
      return 0;
    default:
      return theme.unknown;
  }
}

export function coloursOf(tile: Tile, style: Style, theme: Theme, source: Source): Uint32Array {
  if (tile.colours && tile.theme === theme.id) return tile.colours;
  const { start, name, value, kind } = tile.arrays;
  const colours = new Uint32Array(start?.length ?? 0);
  const byName = new Map<number, number>();
  const named = (id: number): number => {
    let colour = byName.get(id);
    if (colour === undefined) {
      colour = theme.hues[hash(source.name(id)) % HUES]!;
      byName.set(id, colour);
    }
    return colour;
  };
  for (let i = 0; i < colours.length; i++) {
    const flags = of(kind, i);
    if (style === "state") colours[i] = stateColour(theme, flags, of(value, i));
    else if (style === "nested" && flags & FLAG.error) colours[i] = theme.error;
    else colours[i] = named(of(name, i));
  }
  tile.colours = colours;
  tile.theme = theme.id;
  return colours;
}

/**
 * Bands of states: what runs or could run is a bar (0), what waits is a thin line (1); so is what could run at its end,
 * when it is not known since when: the thread may have slept through most of it, or not yet have been there.
 */
export function bandsOf(tile: Tile): Uint8Array {
  if (tile.bands) return tile.bands;
  const { start, kind } = tile.arrays;
  const bands = new Uint8Array(start?.length ?? 0);
  for (let i = 0; i < bands.length; i++) {
    const flags = of(kind, i);
    const state = flags & STATE.mask;
    const waits = state === STATE.runnable && !(flags & FLAG.openStart);
    bands[i] = state === STATE.running || waits ? 0 : 1;
  }
  tile.bands = bands;
  return bands;
}
