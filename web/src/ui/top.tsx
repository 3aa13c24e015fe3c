/** What took the time of the selection, as a table. */
import { useState } from "preact/hooks";
import { revealTrack, tell } from "../input/actions";
import { asked, useApp, useAsk, useScope } from "./hooks";
import { type Cell, type Column, Problem, ScopeLine, Table } from "./parts";

const WHAT = {
  top: "CPU time",
  states: "states of threads",
  syscalls: "system calls",
  kinds: "events by kind",
  tasks: "events by task",
  cpus: "events by CPU",
};

/** Rows of threads lead to their tracks: by an id that says nothing to those who look, and is not shown. */
function Sums({ columns, rows, label }: { columns: Column[]; rows: Cell[][]; label: string }) {
  const app = useApp();
  const at = columns.findIndex((c) => c.name === "track");
  if (at < 0) return <Table columns={columns} rows={rows} label={label} />;
  const go = (row: Cell[]): void => {
    revealTrack(app, String(row.at(-1))).catch((e) => tell(app, e));
  };
  const last = rows.map((row) => [...row.toSpliced(at, 1), row[at]!]);
  return <Table columns={columns.toSpliced(at, 1)} rows={last} label={label} onRow={go} />;
}

export function Top() {
  const scope = useScope();
  const [what, setWhat] = useState<keyof typeof WHAT>("top");
  const { reply, error, busy } = useAsk<{ columns: Column[]; rows: Cell[][] }>("select", { ...asked(scope), what });
  return (
    <div class="top">
      <div class="line">
        <ScopeLine scope={scope} busy={busy} />
        <select
          aria-label="What is added up"
          value={what}
          onChange={(e) => setWhat(e.currentTarget.value as keyof typeof WHAT)}
        >
          {Object.entries(WHAT).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
      {error && <Problem error={error} />}
      {!error && reply?.head.rows && reply.head.rows.length === 0 && (
        <p class="empty">There is nothing in this range.</p>
      )}
      {!error && !!reply?.head.rows?.length && (
        <Sums columns={reply.head.columns} rows={reply.head.rows} label={WHAT[what]} />
      )}
    </div>
  );
}
