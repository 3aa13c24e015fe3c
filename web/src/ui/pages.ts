/** Rows of a long list, page by page, of which only those near the screen are kept. */
import type { Source } from "../source/types";

export type EventRow = [
  id: number,
  ts: number,
  cpu: number,
  task: string,
  kind: string,
  info: string,
  utid?: number,
  flags?: string,
];

/** CPU, how many (null: not told), and when: before a row. */
export type Lost = [cpu: number | null, count: number | null, ts: number];

const PAGE = 128;
const MOST_PAGES = 40;

/** Letters: no kind of event takes more of a row. */
const WIDEST_KIND = 54;

const NONE: Lost[] = [];

interface Answer {
  total: number;
  rows: EventRow[];
  lost?: [row: number, ...Lost][];
}

export class EventPages {
  private readonly pages = new Map<number, EventRow[] | "coming">();
  private readonly lost = new Map<number, Map<number, Lost[]>>();
  total = 0;
  error: Error | null = null;
  loaded = false;
  /** Whether rows have those of interrupts and preemption. */
  flags = false;
  private highest = 999;
  private widest = 16;

  constructor(
    private readonly source: Source,
    readonly filter: string,
    private readonly changed: () => void,
  ) {}

  row(i: number): EventRow | undefined {
    const number = Math.floor(i / PAGE);
    const page = this.pages.get(number);
    if (page === undefined && !this.error) void this.load(number);
    return page === "coming" ? undefined : page?.[i % PAGE];
  }

  /** Of columns whose texts differ from recording to recording: as wide as the widest that was seen. */
  get widths(): Record<string, string> {
    return { "--number": `${String(this.highest).length}ch`, "--kind": `${Math.min(this.widest, WIDEST_KIND)}ch` };
  }

  /** What is missing before a row. */
  lostBefore(i: number): Lost[] {
    return this.lost.get(Math.floor(i / PAGE))?.get(i % PAGE) ?? NONE;
  }

  /** After the recording has grown: the last page is no longer all. */
  refresh(): void {
    this.pages.delete(Math.floor(this.total / PAGE));
    void this.load(Math.floor(this.total / PAGE));
  }

  private async load(number: number): Promise<void> {
    this.pages.set(number, "coming");
    try {
      const args = { filter: this.filter, offset: number * PAGE, limit: PAGE };
      const { head } = await this.source.ask<Answer>("events", args);
      this.total = head.total;
      this.pages.set(number, head.rows);
      const lost = new Map<number, Lost[]>();
      for (const [row, ...one] of head.lost ?? []) lost.set(row, [...(lost.get(row) ?? []), one]);
      this.lost.set(number, lost);
      this.flags ||= head.rows.some((r) => r[7] !== undefined);
      for (const [id, , , , kind] of head.rows) {
        this.highest = Math.max(this.highest, id);
        this.widest = Math.max(this.widest, kind.length);
      }
    } catch (e) {
      this.pages.delete(number);
      this.error = e as Error;
    }
    this.loaded = true;
    for (const key of this.pages.keys()) {
      if (this.pages.size <= MOST_PAGES) break;
      if (Math.abs(key - number) <= 3) continue;
      this.pages.delete(key);
      this.lost.delete(key);
    }
    this.changed();
  }
}
