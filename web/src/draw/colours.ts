/**
 * Colours by numbers and names. All of a palette are equally light (OKLCH), so that dark text can be read on each of
 * them, and none looks more important than another.
 */

/** R, G, B and opacity in the order that pixels have in memory on little-endian machines: 0xAABBGGRR. */
export const pack = (r: number, g: number, b: number, a = 255): number => ((a << 24) | (b << 16) | (g << 8) | r) >>> 0;

const gamma = (x: number): number => {
  const y = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
  return Math.round(Math.min(1, Math.max(0, y)) * 255);
};

/** OKLCH to sRGB, by the matrices of Björn Ottosson's "A perceptual color space for image processing" (2020). */
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

export const css = (packed: number): string =>
  `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255} / ${(packed >>> 24) / 255})`;

export const HUES = 24;

/** Hues that follow each other are far apart: threads with neighbouring numbers do not look alike. */
export function palette(lightness: number, chroma: number): Uint32Array {
  const colours = new Uint32Array(HUES);
  for (let i = 0; i < HUES; i++) colours[i] = pack(...oklch(lightness, chroma, (i * 360 * 7) / HUES + 20));
  return colours;
}

/** Colours of CPUs: of the cold half of the circle, for warm ones mean that a thread waits. */
export function cool(lightness: number, chroma: number): Uint32Array {
  const colours = new Uint32Array(12);
  for (let i = 0; i < 12; i++) colours[i] = pack(...oklch(lightness, chroma, 140 + ((i * 5) % 12) * 15));
  return colours;
}

/** FNV-1a: the same name has the same colour in every recording. */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
}

/** Kept colour, other opacity (0 to 1). */
export const faded = (packed: number, opacity: number): number =>
  ((packed & 0xffffff) | (Math.round(((packed >>> 24) * opacity) & 255) << 24)) >>> 0;

/** By WCAG 2: from 1 (the same) to 21 (black on white). */
export function contrast(one: number, other: number): number {
  const light = (packed: number): number => {
    const part = (shift: number, weight: number): number => {
      const c = ((packed >> shift) & 255) / 255;
      return weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    };
    return part(0, 0.2126) + part(8, 0.7152) + part(16, 0.0722) + 0.05;
  };
  const [a, b] = [light(one), light(other)];
  return Math.max(a, b) / Math.min(a, b);
}
