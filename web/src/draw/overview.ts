/** Values of the strip of the whole recording: asked for once a width, and again when the recording has grown. */
import type { App } from "../app";
import { columns } from "./raster";

const AGAIN_MS = 1000;

export class Overview {
  values = new Float64Array(0);
  private asked = 0;
  private waiting = false;
  private again = 0;

  constructor(private readonly app: App) {}

  clear(): void {
    this.asked = 0;
  }

  /** Sees to it that there are values for so many pixels, soon. */
  want(width: number): void {
    if (this.waiting || width === this.asked || width < 2) return;
    // while a recording grows the old values do
    if (performance.now() < this.again) return;
    this.waiting = true;
    void this.load(width).finally(() => {
      this.waiting = false;
      this.again = performance.now() + AGAIN_MS;
      this.app.clock.ask();
    });
  }

  private async load(width: number): Promise<void> {
    this.asked = width;
    const { start, end } = this.app.all;
    try {
      const { arrays } = await this.app.source.ask("area", { track: "all", start, end, width });
      const { at, high, mean } = arrays as Record<string, Float64Array>;
      if (!at || !high || !mean) return;
      const scale = { start, perPixel: (end - start) / width, width };
      const highs = new Float64Array(width);
      const values = new Float64Array(width);
      columns(scale, { start, end }, { at, high, mean }, highs, values);
      let most = 0;
      for (const v of values) if (v > most) most = v;
      if (most > 0) for (let i = 0; i < width; i++) values[i] = Math.sqrt(values[i]! / most);
      this.values = values;
    } catch {
      // without an overview the page still works
    }
  }
}
