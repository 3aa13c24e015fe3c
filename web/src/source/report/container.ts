/**
 * What a report in one file holds: one answer in the shape of the wire (see source/wire), packed and written as text.
 *
 *     <script type="text/plain" id="probescope-data">BASE64(gzip(u32 length | head | arrays))</script>
 */
import { oneLine } from "../text";
import type { Opened, Track, Typed } from "../types";
import { decode } from "../wire";

export interface LevelInfo {
  key: string;
  /** Nanoseconds a pixel. */
  pixel: number;
}

export interface Container {
  open: Opened;
  cut: string;
  names: Map<number, string>;
  tracks: Track[];
  tiles: Record<string, { kind: "slices" | "area"; levels: LevelInfo[] }>;
  total: number;
  unit: string;
  threads: Map<number, { name: string; tid: number; pid: number; track: string }>;
  arrays: Record<string, Typed>;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpacked(text: string): Promise<ArrayBuffer> {
  const packed = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(packed).arrayBuffer();
}

interface Head {
  open: Opened;
  cut?: string;
  names: Record<string, string>;
  tracks: Track[];
  tiles: Container["tiles"];
  events?: { total: number };
  unit?: string;
  threads?: Record<string, [name: number, tid: number, pid: number, track: string]>;
}

export function contain(frame: ArrayBuffer): Container {
  const { head, arrays } = decode(frame);
  const h = head as unknown as Head;
  const names = new Map(Object.entries(h.names).map(([id, text]) => [Number(id), oneLine(text)]));
  const threads = new Map(
    Object.entries(h.threads ?? {}).map(([utid, [name, tid, pid, track]]) => [
      Number(utid),
      { name: names.get(name) ?? "", tid, pid, track },
    ]),
  );
  const cut = h.cut ?? "";
  const open = { ...h.open, cut, live: false, library: [] };
  const { tracks, tiles } = h;
  return { open, cut, names, tracks, tiles, total: h.events?.total ?? 0, unit: h.unit ?? "samples", threads, arrays };
}

export async function unpack(text: string): Promise<Container> {
  return contain(await unpacked(text));
}
