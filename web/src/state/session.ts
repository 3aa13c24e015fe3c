/** Sessions as files: the same as the address, readable, with the recordings that they are of. */
import type { Opened } from "../source/types";
import { fromHash, toHash } from "./hash";
import type { State } from "./state";

const FORMAT = "probescope session 1";

export function toSession(state: State, opened: Opened): string {
  const params = Object.fromEntries(new URLSearchParams(toHash(state).replaceAll("+", "%2B")));
  const recordings = opened.recordings.map((r) => ({ path: r.path, events: r.events }));
  return `${JSON.stringify({ format: FORMAT, recordings, state: params }, null, 2)}\n`;
}

/** What a file holds. Raises an Error with a sentence where it is none of ours. */
export function fromSession(json: string): Partial<State> {
  let read: { format?: unknown; state?: unknown };
  try {
    read = JSON.parse(json);
  } catch {
    throw new Error("this file is not JSON");
  }
  if (read?.format !== FORMAT || typeof read.state !== "object" || read.state === null)
    throw new Error("this file is not a session of probescope");
  const parts = Object.entries(read.state).map(([k, v]) => `${k}=${encodeURIComponent(String(v))}`);
  return fromHash(parts.join("&"));
}
