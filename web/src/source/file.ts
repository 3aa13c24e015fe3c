/** The data of a report in one file: placeholder until its container is agreed. */
import type { Source } from "./types";

export async function fileSource(_document: Document): Promise<Source | null> {
  return null;
}
