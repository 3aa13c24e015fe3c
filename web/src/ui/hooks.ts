/** How components see the page's state, and how they ask. */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { App, Ui } from "../app";
import type { Refused, Reply } from "../source/types";
import type { State } from "../state/state";
import type { Store } from "../state/store";

export const Context = createContext<App>(null as unknown as App);
export const useApp = (): App => useContext(Context);

const same = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((x, i) => Object.is(x, b[i]));
};

function useStore<T extends object, R>(store: Store<T>, choose: (value: T) => R): R {
  const [, redraw] = useState(0);
  const chosen = choose(store.get());
  const last = useRef({ chosen, choose });
  last.current = { chosen, choose };
  useEffect(
    () =>
      store.listen((now) => {
        if (!same(last.current.choose(now), last.current.chosen)) redraw((n) => n + 1);
      }),
    [store],
  );
  return chosen;
}

/** Part of what was chosen; the component is drawn again when that part changes. An array is compared item by item. */
export const useChosen = <R>(choose: (state: State) => R): R => useStore(useApp().state, choose);
export const useUi = <R>(choose: (ui: Ui) => R): R => useStore(useApp().ui, choose);

export interface Answer<H> {
  reply: Reply<H> | null;
  error: Refused | Error | null;
  busy: boolean;
}

const REST_MS = 130;

/** Asks anew when the question changes and has then rested; a question that is out of date is called off. */
export function useAsk<H>(op: string, args: object | null, rest = REST_MS): Answer<H> {
  const app = useApp();
  const [answer, setAnswer] = useState<Answer<H>>({ reply: null, error: null, busy: false });
  const key = args && JSON.stringify(args);
  useEffect(() => {
    if (!args) return;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      setAnswer((a) => ({ ...a, busy: true }));
      try {
        const reply = await app.source.ask<H>(op, args, control.signal);
        setAnswer({ reply, error: null, busy: false });
      } catch (error) {
        if (!control.signal.aborted) setAnswer({ reply: null, error: error as Error, busy: false });
      }
    }, rest);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [op, key]);
  return answer;
}

/** What the tabs are about: the selection, or what is on the screen. */
export interface Scope {
  start: number;
  end: number;
  tracks: string[] | null;
  filter: string;
  /** Whether somebody selected it. */
  selected: boolean;
}

export function useScope(): Scope {
  const [view, selection, filter] = useChosen((s) => [s.view, s.selection, s.filterList ? s.filter : ""] as const);
  const range = selection ?? { ...view, tracks: null };
  const whole = (n: number): number => Math.max(0, Math.round(n));
  const { tracks } = range;
  return { start: whole(range.start), end: whole(range.end), tracks, filter, selected: selection !== null };
}

/** Without what is not part of a question. */
export const asked = ({ start, end, tracks, filter }: Scope): object => ({ start, end, tracks, filter });
