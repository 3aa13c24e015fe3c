/** Dark and light: what canvases are drawn with. The rest of the page has its own in style.css, of the same values. */
import { cool, oklch, pack, palette } from "./colours";

export interface Theme {
  /** 0 or 1: part of the keys of what is kept. */
  id: number;
  ground: string;
  panel: string;
  line: string;
  ink: string;
  dim: string;
  accent: string;
  accentFill: string;
  onSlice: string;
  markerA: string;
  markerB: string;
  arrow: string;
  pick: string;
  lost: string;
  hues: Uint32Array;
  faintHues: Uint32Array;
  /** Of CPUs, where threads run. */
  cpus: Uint32Array;
  woken: number;
  preempted: number;
  runnable: number;
  sleeping: number;
  blocked: number;
  stopped: number;
  unknown: number;
  error: number;
  area: number;
  areaTop: number;
}

const rgb = (l: number, c: number, h: number, a = 255): number => pack(...oklch(l, c, h), a);

const DARK: Theme = {
  id: 0,
  ground: "#10141b",
  panel: "#171c25",
  line: "#262d39",
  ink: "#e3e7ee",
  dim: "#98a3b5",
  accent: "#6cb2ff",
  accentFill: "rgb(108 178 255 / 0.14)",
  onSlice: "#0a0e14",
  markerA: "#5fd08a",
  markerB: "#ff9d5c",
  arrow: "rgb(235 240 250 / 0.62)",
  pick: "#ffffff",
  lost: "#ff5a5a",
  hues: palette(0.74, 0.105),
  faintHues: palette(0.5, 0.06),
  cpus: cool(0.74, 0.1),
  woken: rgb(0.83, 0.15, 95),
  preempted: rgb(0.66, 0.19, 27),
  runnable: rgb(0.74, 0.14, 60),
  sleeping: rgb(0.45, 0.02, 260),
  blocked: rgb(0.6, 0.15, 320),
  stopped: rgb(0.55, 0.03, 200),
  unknown: rgb(0.35, 0.01, 260, 120),
  error: rgb(0.68, 0.2, 25),
  area: rgb(0.62, 0.1, 240, 190),
  areaTop: rgb(0.8, 0.1, 235),
};

const LIGHT: Theme = {
  id: 1,
  ground: "#ffffff",
  panel: "#f4f6f9",
  line: "#e3e7ee",
  ink: "#1a2029",
  dim: "#5a6577",
  accent: "#0b62c4",
  accentFill: "rgb(11 98 196 / 0.10)",
  onSlice: "#10151d",
  markerA: "#157a3d",
  markerB: "#b4480a",
  arrow: "rgb(20 28 40 / 0.6)",
  pick: "#000000",
  lost: "#c01818",
  hues: palette(0.8, 0.1),
  faintHues: palette(0.9, 0.05),
  cpus: cool(0.8, 0.1),
  woken: rgb(0.86, 0.17, 95),
  preempted: rgb(0.63, 0.21, 27),
  runnable: rgb(0.78, 0.14, 62),
  sleeping: rgb(0.8, 0.015, 260),
  blocked: rgb(0.6, 0.17, 320),
  stopped: rgb(0.68, 0.03, 200),
  unknown: rgb(0.88, 0.01, 260, 150),
  error: rgb(0.6, 0.22, 25),
  area: rgb(0.75, 0.09, 245, 200),
  areaTop: rgb(0.5, 0.13, 250),
};

export const THEMES = { dark: DARK, light: LIGHT } as const;
