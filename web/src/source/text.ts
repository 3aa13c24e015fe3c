/**
 * Text of recordings is anybody's: names of threads may hold escape codes or marks that turn the direction of writing.
 * It is made visible once, where it comes in; everything behind shows it as text, never as HTML.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function symbol(c: string): string {
  const code = c.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/** Control characters as their symbols (␛), but for tabs and ends of lines. */
export function visible(text: string): string {
  return text.replace(CONTROL, symbol);
}

/** The same for what has one line only. */
export function oneLine(text: string): string {
  return visible(text).replaceAll("\n", "\u240a").replaceAll("\t", "\u2409");
}

// JSON writes control characters escaped; without any of these in a text, none of its strings needs a look
const SUSPECT = /\\u00[0189]|\\u007|\\u20|\\[bfr]|[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/i;

export function parse(json: string): unknown {
  if (!SUSPECT.test(json)) return JSON.parse(json);
  return JSON.parse(json, (_key, value: unknown) => (typeof value === "string" ? visible(value) : value));
}
