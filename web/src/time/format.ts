/** Times and durations in words. Everything is in nanoseconds since the recording's first event. */

const UNITS: [ns: number, name: string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Three or four digits that matter: 12 ns, 3.42 µs, 125 ms, 2 min 5 s. */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "?";
  const size = Math.abs(ns);
  if (size >= 120e9) {
    const minutes = Math.floor(size / 60e9);
    return `${ns < 0 ? "-" : ""}${minutes} min ${Math.round(size / 1e9 - minutes * 60)} s`;
  }
  // rounded up it may fill the next unit: 999.96 µs is 1 ms
  const [unit, name] = UNITS.find(([u]) => size >= u * 0.9995) ?? [1, "ns"];
  const value = ns / unit;
  const digits = unit === 1 ? 0 : Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${name}`;
}

/** A moment as seconds, with as many digits as a step needs: 12.345678. */
export function seconds(ns: number, step = 1): string {
  const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(Math.max(step, 1)) + 1e-9)));
  const sign = ns < 0 ? "-" : "";
  const whole = Math.round(Math.abs(ns));
  const unit = 10 ** (9 - digits);
  const rounded = Math.round(whole / unit) * unit;
  const fraction = String(Math.floor((rounded % 1e9) / unit)).padStart(digits, "0");
  return `${sign}${Math.floor(rounded / 1e9)}${digits ? `.${fraction}` : ""}`;
}

/** All digits: 12.345678901 s. */
export function exact(ns: number): string {
  return `${seconds(ns, 1)} s`;
}

/** The time of day of a moment, with its microseconds, or nothing where the recording does not tell. */
export function clock(ns: number, wall: number | string | null | undefined): string {
  if (wall === null || wall === undefined) return "";
  const at = BigInt(wall) + BigInt(Math.round(ns));
  const date = new Date(Number(at / 1_000_000n));
  const micros = String((at / 1000n) % 1_000_000n).padStart(6, "0");
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`;
}

/** 1,234,567 */
export function count(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

/** 1.2 k, 3.4 M: where space is short. */
export function short(n: number): string {
  const size = Math.abs(n);
  const [unit, name] = size >= 1e9 ? [1e9, " G"] : size >= 1e6 ? [1e6, " M"] : size >= 1e4 ? [1e3, " k"] : [1, ""];
  return unit === 1 ? String(Math.round(n * 100) / 100) : `${(n / unit).toFixed(1)}${name}`;
}
