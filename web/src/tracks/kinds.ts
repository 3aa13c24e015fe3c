/** How each kind of track looks, and what it asks. */

export type Style = "none" | "task" | "state" | "nested" | "area" | "density" | "marks";

export interface TrackKind {
  style: Style;
  op: "slices" | "area" | null;
  /** Height in CSS pixels; of nested tracks, that of one lane. */
  height: number;
  /** What `detail` calls the things on it. */
  detail: string;
  about: string;
}

const kind = (style: Style, op: TrackKind["op"], height: number, detail: string, about: string): TrackKind => ({
  style,
  op,
  height,
  detail,
  about,
});

export const KINDS: Record<string, TrackKind> = {
  group: kind("none", null, 24, "", "group"),
  cpu: kind("task", "slices", 24, "sched_slice", "who ran on a CPU"),
  process: kind("area", "area", 28, "", "CPU use of a process"),
  thread: kind("state", "slices", 22, "thread_state", "states of a thread"),
  syscall: kind("nested", "slices", 16, "syscall", "system calls"),
  irq: kind("nested", "slices", 16, "irq", "interrupts"),
  softirq: kind("nested", "slices", 16, "softirq", "soft interrupts"),
  func: kind("nested", "slices", 16, "func", "functions of the kernel"),
  span: kind("nested", "slices", 16, "span", "spans that programs wrote"),
  sample: kind("density", "area", 18, "sample", "samples"),
  counter: kind("area", "area", 34, "counter", "counter"),
  marker: kind("marks", "slices", 18, "marker", "texts that programs wrote"),
  event: kind("density", "area", 18, "event", "events"),
};

export const kindOf = (name: string): TrackKind => KINDS[name] ?? KINDS.group!;

/** The byte `kind` of a slice: a state and flags. */
export const STATE = { mask: 7, running: 1, runnable: 2, sleeping: 3, blocked: 4, stopped: 5, dead: 6 } as const;
export const FLAG = { preempted: 0x08, woken: 0x10, openStart: 0x20, openEnd: 0x40, error: 0x80 } as const;
export const STATE_NAMES = ["unknown", "running", "runnable", "sleeping", "blocked", "stopped", "dead", ""];
