/** Small things that several tabs have. */

import { useState } from "preact/hooks";
import { Refused } from "../source/types";
import { count, duration, exact, short } from "../time/format";
import type { Scope } from "./hooks";
import { useApp } from "./hooks";

export function Problem({ error, text }: { error: Error; text?: string }) {
  const refused = error instanceof Refused ? error : null;
  const at = refused?.at ?? null;
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {text !== undefined && at !== null && <pre>{pointing(text, at)}</pre>}
      {refused?.hint && <p class="hint">{refused.hint}</p>}
    </div>
  );
}

/** The line of a text that a position is in, with a caret below. */
export function pointing(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  const line = text.slice(start, end < 0 ? undefined : end).replaceAll("\t", " ");
  return `${line}\n${" ".repeat(Math.max(0, at - start))}^`;
}

/** What a tab is about. */
export function ScopeLine({ scope, busy }: { scope: Scope; busy: boolean }) {
  const app = useApp();
  const tracks = scope.tracks ? `${scope.tracks.length} tracks, ` : "";
  const what = scope.selected ? "selection" : "on the screen";
  return (
    <span class={`scope ${busy ? "busy-text" : ""}`}>
      {what}: {tracks}
      {duration(scope.end - scope.start)}
      {scope.selected && (
        <button
          type="button"
          class="link"
          onClick={() => app.state.set({ selection: null })}
          aria-label="Drop the selection"
        >
          ×
        </button>
      )}
    </span>
  );
}

export interface Column {
  name: string;
  unit?: string | null;
}

export type Cell = string | number | boolean | null | unknown[];

/** A value by its unit: durations in words, numbers with their thousands. */
export function cell(value: Cell, unit?: string | null): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") {
    if (unit === "ns") return duration(value);
    if (unit === "ts") return exact(value);
    if (unit === "part" || unit === "%") return `${(value * (unit === "part" ? 100 : 1)).toFixed(1)} %`;
    return Number.isInteger(value) ? (unit === "id" ? String(value) : count(value)) : short(value);
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Numbers that are names: nobody writes 12,345 for a process. */
const NAMES = /^(id|cpu|irq|vec|nr|kind|event|callsite|wakeup|parent|recording|.*(pid|tid))$/;
const unitOf = (c: Column): string | null | undefined => c.unit || (NAMES.test(c.name) ? "id" : c.unit);

interface TableProps {
  columns: Column[];
  rows: Cell[][];
  label: string;
  onRow?: ((row: Cell[]) => void) | undefined;
}

/** A table that sorts by a click on the head of a column. */
export function Table({ columns, rows, label, onRow }: TableProps) {
  const [order, setOrder] = useState<{ by: number; down: boolean } | null>(null);
  const sorted = order ? [...rows].sort((a, b) => compare(a[order.by], b[order.by]) * (order.down ? -1 : 1)) : rows;
  const numbers = columns.map((_, i) => rows.some((r) => typeof r[i] === "number"));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((c, i) => (
              <th
                key={c.name}
                scope="col"
                class={numbers[i] ? "number" : ""}
                aria-sort={order?.by === i ? (order.down ? "descending" : "ascending") : "none"}
              >
                <button
                  type="button"
                  onClick={() => setOrder({ by: i, down: order?.by === i ? !order.down : numbers[i]! })}
                >
                  {c.name}
                  {order?.by === i ? (order.down ? " ▾" : " ▴") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row, at) => (
            <tr key={at} class={onRow ? "live" : ""} onClick={onRow && (() => onRow(row))}>
              {columns.map((column, i) => (
                <td key={column.name} class={numbers[i] ? "number" : ""}>
                  {cell(row[i] ?? null, unitOf(column))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function compare(a: Cell | undefined, b: Cell | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}
