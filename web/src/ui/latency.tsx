/** How long wake-ups waited for a CPU, or system calls took: a histogram whose bars are powers of two. */
import { useState } from "preact/hooks";
import { count, duration } from "../time/format";
import { asked, useAsk, useScope } from "./hooks";
import { Problem, ScopeLine } from "./parts";

interface Head {
  p50?: number;
  p90?: number;
  p99?: number;
  max?: number;
  about?: string;
}

const WHAT = { latency: "wake-up latency", syscall_latency: "system calls" };

export function Latency() {
  const scope = useScope();
  const [what, setWhat] = useState<keyof typeof WHAT>("latency");
  const { reply, error, busy } = useAsk<Head>("select", { ...asked(scope), what });
  const { edges, counts } = (reply?.arrays ?? {}) as Record<string, Float64Array>;
  const total = counts?.reduce((a, b) => a + b, 0) ?? 0;
  return (
    <div class="latency">
      <div class="line">
        <ScopeLine scope={scope} busy={busy} />
        <select
          aria-label="What is measured"
          value={what}
          onChange={(e) => setWhat(e.currentTarget.value as keyof typeof WHAT)}
        >
          {Object.entries(WHAT).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        {reply?.head.about && <span class="dim">{reply.head.about}</span>}
      </div>
      {error && <Problem error={error} />}
      {!error && reply && total === 0 && <p class="empty">There are none in this range.</p>}
      {total > 0 && edges && counts && <Bars edges={edges} counts={counts} total={total} head={reply!.head} />}
    </div>
  );
}

function Bars({
  edges,
  counts,
  total,
  head,
}: {
  edges: Float64Array;
  counts: Float64Array;
  total: number;
  head: Head;
}) {
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return (
    <div class="histogram">
      <dl class="figures">
        {(["p50", "p90", "p99", "max"] as const).map((name) => (
          <div key={name}>
            <dt>{name === "p50" ? "median" : name === "max" ? "longest" : `${name.slice(1)} %`}</dt>
            <dd>{head[name] === undefined || head[name] === null ? "–" : duration(head[name]!)}</dd>
          </div>
        ))}
        <div>
          <dt>how many</dt>
          <dd>{count(total)}</dd>
        </div>
      </dl>
      <table aria-label="Histogram of durations">
        <tbody>
          {[...counts].map((n, i) => (
            <tr key={edges[i]}>
              <th scope="row">{`${duration(edges[i]!)} – ${duration(edges[i + 1] ?? edges[i]! * 2)}`}</th>
              <td class="bar">
                <i style={{ width: `${n ? Math.max(0.4, (n / most) * 100) : 0}%` }} />
              </td>
              <td class="number">{n ? count(n) : ""}</td>
              <td class="number dim">{n ? `${((n / total) * 100).toFixed(1)} %` : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
