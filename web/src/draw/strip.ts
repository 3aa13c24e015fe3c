/**
 * Slices are rectangles, and all of one lane have the same height: one row of pixels says everything of a lane. So
 * rows are written as numbers into one narrow picture, and each is drawn once, stretched to its height. What a frame
 * costs depends on its width and its lanes, not on how many slices there are.
 *
 *     picture:  row 0  ▇▇▇ ▇▇▇▇▇  ▇          ──stretched──►   lane of CPU 0, 22 pixels high
 *               row 1  ▇ ▇▇▇▇ ▇▇▇▇▇                           lane of CPU 1
 *               rows 2-19 an area, as it is                   18 pixels high
 */

interface Lane {
  row: number;
  rows: number;
  y: number;
  height: number;
}

export class Strip {
  width = 0;
  pixels: Uint32Array = new Uint32Array(0);
  private image: ImageData | null = null;
  private rows = 0;
  private used = 0;
  private readonly lanes: Lane[] = [];
  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;

  begin(width: number): void {
    if (width !== this.width) this.resize(width, Math.max(this.rows, 64));
    this.pixels.fill(0, 0, this.used * width);
    this.used = 0;
    this.lanes.length = 0;
  }

  /** A lane that is drawn at y, of one row or of as many as it is high: the place of its first pixel. */
  lane(y: number, height: number, rows = 1): number {
    if (this.used + rows > this.rows) this.grow(this.used + rows);
    const row = this.used;
    this.used += rows;
    this.lanes.push({ row, rows, y, height });
    return row * this.width;
  }

  paint(to: CanvasRenderingContext2D): void {
    if (!this.image || !this.used) return;
    this.context.putImageData(this.image, 0, 0, 0, 0, this.width, this.used);
    to.imageSmoothingEnabled = false;
    for (const l of this.lanes) {
      to.drawImage(this.canvas, 0, l.row, this.width, l.rows, 0, l.y, this.width, l.height);
    }
  }

  private grow(rows: number): void {
    const old = this.pixels;
    this.resize(this.width, Math.max(rows, this.rows * 2));
    this.pixels.set(old);
  }

  private resize(width: number, rows: number): void {
    this.width = width;
    this.rows = rows;
    this.image = new ImageData(width, rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.canvas.width = width;
    this.canvas.height = rows;
  }
}
