/** Keys as they are written, and what of that was pressed. Pure. */

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/**
 * A key as text: "Ctrl+Shift+P", "a", "A", "[". Shift is named only with letters that have Ctrl, and with keys that have
 * no other sign: "?" says it by itself. The Mac's command key counts as Ctrl.
 */
export function keyText(e: Pressed): string {
  const ctrl = e.ctrlKey || e.metaKey;
  const letter = e.key.length === 1;
  const name = letter && ctrl ? e.key.toUpperCase() : e.key === " " ? "Space" : e.key;
  const shift = e.shiftKey && (!letter || ctrl);
  return `${ctrl ? "Ctrl+" : ""}${e.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${name}`;
}

export interface Bound {
  keys: readonly string[];
}

export function lookUp<T extends Bound>(table: readonly T[]): Map<string, T> {
  const map = new Map<string, T>();
  for (const entry of table) for (const key of entry.keys) map.set(key, entry);
  return map;
}

/** How well a query fits a title: all its letters in order; the closer together and to the front, the higher. 0: not. */
export function fuzzy(query: string, title: string): number {
  const q = query.toLowerCase().replaceAll(" ", "");
  const t = title.toLowerCase();
  if (!q) return 1;
  const whole = t.indexOf(query.toLowerCase().trim());
  if (whole >= 0) return 1000 - whole;
  let at = -1;
  let score = 500;
  for (const letter of q) {
    const next = t.indexOf(letter, at + 1);
    if (next < 0) return 0;
    score -= next - at - 1;
    at = next;
  }
  return Math.max(1, score);
}
