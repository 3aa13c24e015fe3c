/** What took the time of the selection, as a table. */
import { useState } from "preact/hooks";
import { asked, useAsk, useScope } from "./hooks";
import { type Cell, type Column, Problem, ScopeLine, Table } from "./parts";

const WHAT = { top: "CPU time", states: "states of threads", syscalls: "system calls" };

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
        <Table columns={reply.head.columns} rows={reply.head.rows} label={WHAT[what]} />
      )}
    </div>
  );
}
