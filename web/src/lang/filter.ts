/** Texts for the language of filters. Pure. */

/** A text as the language has it: in quotes, with quotes and backslashes marked. */
export function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Two filters, both of which must hold. */
export function both(one: string, other: string): string {
  if (!one.trim()) return other;
  if (!other.trim()) return one;
  return `(${one}) and (${other})`;
}

/** A filter for what a track is of, or nothing where there is none. */
export function ofTrack(track: { kind: string; name: string; cpu?: number; tid?: number; pid?: number }): string {
  switch (track.kind) {
    case "cpu":
      return `cpu in ${track.cpu}`;
    case "thread":
      return track.tid === undefined ? `task == ${quote(track.name)}` : `tid == ${track.tid}`;
    case "process":
      return track.pid === undefined ? `task == ${quote(track.name)}` : `pid == ${track.pid}`;
    case "event":
      return `event == ${quote(track.name)}`;
    default:
      return "";
  }
}
