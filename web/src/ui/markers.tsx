/** Where the markers are, and how far apart. */
import { duration, exact } from "../time/format";
import { useApp, useChosen } from "./hooks";

export function MarkerLine() {
  const app = useApp();
  const [a, b] = useChosen((s) => [s.a, s.b] as const);
  if (a === null && b === null) return null;
  const go = (at: number): void => {
    const { view } = app.state.get();
    const half = (view.end - view.start) / 2;
    app.motion.go({ start: at - half, end: at + half });
  };
  return (
    <span class="markers" data-testid="markers">
      {a !== null && (
        <button type="button" class="a" onClick={() => go(a)} title="Go to marker A">
          A {exact(a)}
        </button>
      )}
      {b !== null && (
        <button type="button" class="b" onClick={() => go(b)} title="Go to marker B">
          B {exact(b)}
        </button>
      )}
      {a !== null && b !== null && <b>B − A {duration(b - a)}</b>}
    </span>
  );
}
