/** Queries on the recording, with $start and $end for the selection. */
import { useEffect, useRef, useState } from "preact/hooks";
import { saveText } from "../input/files";
import { addPlot } from "../input/plots";
import { count } from "../time/format";
import { useApp, useChosen, useScope } from "./hooks";
import { type Cell, type Column, Problem, Table } from "./parts";

interface Result {
  columns: (Column | string)[];
  rows: Cell[][];
  cut?: number;
  ms?: number;
}

const LIMIT = 1000;
const FIRST = "select name, events from event_kind order by events desc";

export function Sql() {
  const app = useApp();
  const scope = useScope();
  const sql = useChosen((s) => s.sql) || FIRST;
  const [result, setResult] = useState<Result | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState<AbortController | null>(null);
  const run = async (): Promise<void> => {
    busy?.abort();
    const control = new AbortController();
    setBusy(control);
    setError(null);
    try {
      const args = { sql, limit: LIMIT, start: scope.start, end: scope.end };
      const { head } = await app.source.ask<Result>("sql", args, control.signal);
      setResult(head);
      app.say(`${count(head.rows.length)} rows`);
    } catch (e) {
      if (!control.signal.aborted) setError(e as Error);
    }
    setBusy(null);
  };
  const columns = result?.columns.map((c) => (typeof c === "string" ? { name: c } : c)) ?? [];
  return (
    <div class="sql">
      <div class="ask">
        <Editor sql={sql} run={() => void run()} />
        <div class="line">
          <button type="button" class="main" onClick={() => void run()} title="Ctrl+Enter">
            Run
          </button>
          {busy && (
            <button type="button" onClick={() => busy.abort()}>
              Stop
            </button>
          )}
          <button type="button" title="ts and value, or ts, dur and name" onClick={() => void asTrack(app, sql)}>
            As a track
          </button>
          <Library />
          {result && (
            <button type="button" onClick={() => saveText("result.csv", toCsv(columns, result.rows), "text/csv")}>
              Save as CSV
            </button>
          )}
          <span class="dim">
            {busy
              ? "running…"
              : result
                ? `${count(result.rows.length)} rows${result.ms !== undefined ? ` in ${Math.round(result.ms)} ms` : ""}`
                : ""}
            {!!result?.cut && `, ${count(result.cut)} more left out`}
          </span>
        </div>
      </div>
      {error ? (
        <Problem error={error} text={sql} />
      ) : (
        result && <Table columns={columns} rows={result.rows} label="Result" onRow={jump(app, columns)} />
      )}
    </div>
  );
}

/** Where a result has times, a click on a row goes there. */
function jump(app: ReturnType<typeof useApp>, columns: Column[]): ((row: Cell[]) => void) | undefined {
  const at = columns.findIndex((c) => c.name === "ts" || c.name === "start_ts" || c.unit === "ts");
  if (at < 0) return undefined;
  const long = columns.findIndex((c) => c.name === "dur");
  return (row) => {
    // tables have the recording's own times, the page counts from its first event
    const start =
      columns[at]!.unit === "ts"
        ? Number(row[at])
        : Number(BigInt(Math.round(Number(row[at]))) - BigInt(app.opened.origin));
    if (!Number.isFinite(start)) return;
    const end = start + (long >= 0 ? Number(row[long]) || 0 : 0);
    app.state.set({ cursor: start });
    app.motion.go({ start: start - Math.max(end - start, 1e5), end: end + Math.max(end - start, 1e5) });
  };
}

/** Called as its beginning. */
const asTrack = (app: ReturnType<typeof useApp>, sql: string): Promise<void> =>
  addPlot(app, { title: sql.replace(/\s+/g, " ").trim().slice(0, 60), sql });

function toCsv(columns: Column[], rows: Cell[][]): string {
  // a cell that a spreadsheet would take for a formula is told to be text
  const quote = (v: unknown): string => {
    const text = v === null || v === undefined ? "" : String(v);
    const safe = typeof v === "string" && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${[columns.map((c) => c.name), ...rows].map((r) => r.map(quote).join(",")).join("\n")}\n`;
}

function Library() {
  const app = useApp();
  if (!app.opened.library?.length) return null;
  return (
    <select
      aria-label="Saved queries"
      value=""
      onChange={(e) => {
        const found = app.opened.library.find((q) => q.name === e.currentTarget.value);
        if (found) app.state.set({ sql: found.sql });
        e.currentTarget.value = "";
      }}
    >
      <option value="">Saved queries…</option>
      {app.opened.library.map((q) => (
        <option key={q.name} value={q.name} title={q.about}>
          {q.name}: {q.about}
        </option>
      ))}
    </select>
  );
}

interface Word {
  text: string;
  kind: string;
}

const REST_MS = 150;
const WORD = /[\w:".]+$/;

function Editor({ sql, run }: { sql: string; run: () => void }) {
  const app = useApp();
  const ref = useRef<HTMLTextAreaElement>(null);
  const [words, setWords] = useState<Word[]>([]);
  const from = useRef(0);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const complete = (): void => {
    const text = ref.current!.value;
    const at = ref.current!.selectionStart;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(async () => {
      if (!WORD.test(text.slice(0, at))) return setWords([]);
      try {
        const { head } = await app.source.ask<{ from: number; words: Word[] }>("complete", { sql: text, at });
        from.current = head.from;
        setWords(head.words.slice(0, 12));
      } catch {
        setWords([]);
      }
    }, REST_MS);
  };
  const take = (word: Word): void => {
    const { value, selectionStart } = ref.current!;
    const before = value.slice(0, from.current) + word.text;
    app.state.set({ sql: before + value.slice(selectionStart) });
    setWords([]);
    requestAnimationFrame(() => {
      ref.current?.focus();
      ref.current?.setSelectionRange(before.length, before.length);
    });
  };
  const keys = (e: KeyboardEvent): void => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) run();
    else if (e.key === "Tab" && words.length) take(words[0]!);
    else if (e.key === "Escape" && words.length) setWords([]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="editor">
      <textarea
        ref={ref}
        aria-label="SQL"
        spellcheck={false}
        value={sql}
        onInput={(e) => {
          app.state.set({ sql: e.currentTarget.value });
          complete();
        }}
        onKeyDown={keys}
      />
      {words.length > 0 && (
        <div class="words" role="group" aria-label="Words that would fit; Tab takes the first">
          {words.map((w) => (
            <button type="button" key={w.text} title={w.kind} tabIndex={-1} onClick={() => take(w)}>
              {w.text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
