/** A form for what is to be recorded: shown where the server was told to let the page say so, before anything else. */
import { useEffect, useState } from "preact/hooks";
import { why } from "../input/actions";
import { Refused, type Source } from "../source/types";

const PRESETS: Record<string, string> = {
  Scheduling:
    "sched:sched_switch,sched:sched_waking,sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit",
  "System calls": "raw_syscalls:*,sched:sched_switch,sched:sched_waking",
  Interrupts: "irq:*,sched:sched_switch,sched:sched_waking",
  Disks: "block:*,sched:sched_switch,sched:sched_waking",
  "Samples of CPUs": "cpu-clock",
};

interface Props {
  source: Source;
  /** What was wrong with the last try, and which one that was. */
  error: string;
  attempt: number;
}

export function RecordForm({ source, error, attempt }: Props) {
  const [events, setEvents] = useState(PRESETS.Scheduling!);
  const [pid, setPid] = useState("");
  const [seconds, setSeconds] = useState("");
  const [stacks, setStacks] = useState(false);
  const [wrong, setWrong] = useState(error);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setWrong(error);
    setBusy(false);
  }, [error, attempt]);
  const record = async (): Promise<void> => {
    setBusy(true);
    setWrong("");
    try {
      const more = { ...(pid && { pid: Number(pid) }), ...(seconds && { seconds: Number(seconds) }) };
      await source.ask("record", { events, stacks, ...more });
    } catch (e) {
      setWrong([why(e), e instanceof Refused ? e.hint : ""].filter(Boolean).join(": "));
      setBusy(false);
    }
  };
  return (
    <form
      class="record"
      onSubmit={(e) => {
        e.preventDefault();
        void record();
      }}
    >
      <h1>What is to be recorded?</h1>
      <div class="line">
        {Object.entries(PRESETS).map(([name, preset]) => (
          <button type="button" key={name} aria-pressed={events === preset} onClick={() => setEvents(preset)}>
            {name}
          </button>
        ))}
      </div>
      <label>
        <span>events</span>
        <input id="record-events" value={events} spellcheck={false} onInput={(e) => setEvents(e.currentTarget.value)} />
      </label>
      <label>
        <span>of the process</span>
        <input
          type="number"
          min={1}
          placeholder="all of the machine"
          value={pid}
          onInput={(e) => setPid(e.currentTarget.value)}
        />
      </label>
      <label>
        <span>seconds</span>
        <input
          type="number"
          min={0}
          max={3600}
          placeholder="until it is stopped"
          value={seconds}
          onInput={(e) => setSeconds(e.currentTarget.value)}
        />
      </label>
      <label>
        <span>stacks</span>
        <input type="checkbox" checked={stacks} onChange={(e) => setStacks(e.currentTarget.checked)} />
      </label>
      {wrong && (
        <p class="problem" role="alert">
          {wrong}
        </p>
      )}
      <div class="line">
        <button type="submit" class="main" disabled={busy}>
          {busy ? "Recording…" : "Record"}
        </button>
      </div>
    </form>
  );
}
