/**
 * Answers as bytes.
 *
 *     0        4                    4+n (a multiple of 8)
 *     | u32 n  | head: JSON, n bytes | arrays, each at a multiple of 8 |
 *
 * head.arrays: {"start": ["f64", offset from 4+n, number of items]}. Everything is little endian, as every browser's
 * machine is; arrays are views into the bytes that came, nothing is copied.
 */
import { parse } from "./text";
import type { Head, Reply, Typed } from "./types";

type Maker = new (buffer: ArrayBuffer, offset: number, length: number) => Typed;
const TYPES: Record<string, Maker> = {
  f64: Float64Array,
  i32: Int32Array,
  u32: Uint32Array,
  u16: Uint16Array,
  u8: Uint8Array,
};

export type Layout = Record<string, [type: string, offset: number, length: number]>;

export function decode(buffer: ArrayBuffer): Reply {
  const size = new DataView(buffer).getUint32(0, true);
  const base = 4 + size;
  const head = parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size))) as Head;
  const arrays: Record<string, Typed> = {};
  for (const [name, [type, offset, length]] of Object.entries((head.arrays ?? {}) as Layout)) {
    const make = TYPES[type];
    if (!make) throw new Error(`an array of an unknown type: ${type}`);
    arrays[name] = new make(buffer, base + offset, length);
  }
  return { head, arrays };
}

/** Bytes of an answer: for tests, and the mirror image of decode. */
export function encode(head: Head, arrays: Record<string, Typed> = {}): ArrayBuffer {
  const layout: Layout = {};
  let end = 0;
  for (const [name, array] of Object.entries(arrays)) {
    const type = Object.keys(TYPES).find((t) => TYPES[t] === (array.constructor as unknown as Maker))!;
    layout[name] = [type, end, array.length];
    end += Math.ceil(array.byteLength / 8) * 8;
  }
  let text = new TextEncoder().encode(JSON.stringify({ ...head, arrays: layout }));
  const padded = new Uint8Array(Math.ceil((text.length + 4) / 8) * 8 - 4).fill(32);
  padded.set(text);
  text = padded;
  const out = new Uint8Array(4 + text.length + end);
  new DataView(out.buffer).setUint32(0, text.length, true);
  out.set(text, 4);
  for (const [name, array] of Object.entries(arrays)) {
    out.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), 4 + text.length + layout[name]![1]);
  }
  return out.buffer;
}
