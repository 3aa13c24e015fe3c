/** Plots of one's own are queries: these write the usual ones. Pure. */

/** A name of a table or of a column, as SQL has it. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The values of a field of an event over time. */
export function fieldPlot(event: string, field: string): string {
  return `select ts, ${identifier(field)} as value from ${identifier(event)} order by ts`;
}

/**
 * From one event to the next of another kind that has the same value in a field: of several first ones the last counts,
 * as a wake-up counts that was repeated.
 */
export function latencyPlot(from: string, to: string, key: string, other: string): string {
  return `select a.ts as ts, b.ts - a.ts as dur, cast(a.${identifier(key)} as varchar) as name
from ${identifier(from)} a asof join ${identifier(to)} b on a.${identifier(key)} = b.${identifier(other)} and a.ts <= b.ts
qualify row_number() over (partition by b.event order by a.ts desc) = 1
order by ts`;
}
