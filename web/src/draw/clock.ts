/** When frames are drawn: only if something has changed, at most once a refresh. Keeps the figures of it. */

export interface Frames {
  count: number;
  /** Milliseconds between two frames that followed each other, at most, in the last second. */
  longest: number;
  /** Over the last second. */
  fps: number;
  /** Milliseconds that drawing took, the longest of the last second. */
  work: number;
}

export class Clock {
  private asked = false;
  private count = 0;
  private readonly times: number[] = [];
  private readonly works: number[] = [];

  constructor(private readonly draw: (now: number) => void) {}

  /** Draws before the next refresh. */
  readonly ask = (): void => {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      const before = performance.now();
      this.draw(now);
      this.note(now, performance.now() - before);
    });
  };

  private note(now: number, work: number): void {
    this.count++;
    this.times.push(now);
    this.works.push(work);
    while (this.times.length && this.times[0]! < now - 1000) {
      this.times.shift();
      this.works.shift();
    }
  }

  frames(): Frames {
    let longest = 0;
    for (let i = 1; i < this.times.length; i++) longest = Math.max(longest, this.times[i]! - this.times[i - 1]!);
    const [first, last] = [this.times[0] ?? 0, this.times.at(-1) ?? 0];
    const fps = last > first ? ((this.times.length - 1) * 1000) / (last - first) : 0;
    return { count: this.count, longest, fps, work: Math.max(0, ...this.works) };
  }
}
