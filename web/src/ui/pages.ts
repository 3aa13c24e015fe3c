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

const PAGE = 128;
const MOST_PAGES = 40;

export class EventPages {
  private readonly pages = new Map<number, EventRow[] | "coming">();
  total = 0;
  error: Error | null = null;
  loaded = false;
  /** Whether rows have those of interrupts and preemption. */
  flags = false;

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

  /** After the recording has grown: the last page is no longer all. */
  refresh(): void {
    this.pages.delete(Math.floor(this.total / PAGE));
    void this.load(Math.floor(this.total / PAGE));
  }

  private async load(number: number): Promise<void> {
    this.pages.set(number, "coming");
    try {
      const args = { filter: this.filter, offset: number * PAGE, limit: PAGE };
      const { head } = await this.source.ask<{ total: number; rows: EventRow[] }>("events", args);
      this.total = head.total;
      this.pages.set(number, head.rows);
      this.flags ||= head.rows.some((r) => r[7] !== undefined);
    } catch (e) {
      this.pages.delete(number);
      this.error = e as Error;
    }
    this.loaded = true;
    for (const key of this.pages.keys()) {
      if (this.pages.size <= MOST_PAGES) break;
      if (Math.abs(key - number) > 3) this.pages.delete(key);
    }
    this.changed();
  }
}
