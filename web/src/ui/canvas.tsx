/** A canvas that is as sharp as the screen, and is drawn with the page's frames. */
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "./hooks";

export interface Drawn {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  ratio: number;
}

interface Props {
  class: string;
  draw: (d: Drawn) => void;
  label?: string;
}

/** Beyond this many pixels of a device for one of CSS nothing is gained. */
const MOST_RATIO = 2;

export function Canvas({ class: name, draw, label }: Props) {
  const app = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const canvas = ref.current!;
    const context = canvas.getContext("2d")!;
    let [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const paint = (): void => {
      const ratio = Math.min(MOST_RATIO, devicePixelRatio || 1);
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (!w || !h) return;
      if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
      }
      latest.current({ context, width, height, ratio });
    };
    const watch = new ResizeObserver(() => {
      [width, height] = [canvas.clientWidth, canvas.clientHeight];
      app.clock.ask();
    });
    watch.observe(canvas);
    app.painters.add(paint);
    app.clock.ask();
    return () => {
      watch.disconnect();
      app.painters.delete(paint);
    };
  }, [app]);
  return label ? (
    <canvas ref={ref} class={name} role="img" aria-label={label} />
  ) : (
    <canvas ref={ref} class={name} aria-hidden="true" />
  );
}
