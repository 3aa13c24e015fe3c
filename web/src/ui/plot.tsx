/** A form for plots: the values of a field, or the time from one event to another. Both only write SQL. */
import { useEffect, useRef, useState } from "preact/hooks";
import { addPlot } from "../input/plots";
import { fieldPlot, latencyPlot } from "../lang/plots";
import type { Kind } from "../source/types";
import { useApp } from "./hooks";

interface ChoiceProps {
  label: string;
  value: string;
  options: string[];
  set: (value: string) => void;
}

function Choice({ label, value, options, set }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(e) => set(e.currentTarget.value)}>
        {options.map((o) => (
          <option key={o} value={o}>
            {o}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Columns that every event has, too. */
const COMMON = ["utid", "cpu"];
const fieldsOf = (kinds: Kind[], name: string): string[] => kinds.find((k) => k.name === name)?.fields ?? [];

export function PlotForm({ latency }: { latency: boolean }) {
  const app = useApp();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  const kinds = app.opened.kinds.filter((k) => k.fields?.length);
  const names = kinds.map((k) => k.name);
  const [from, setFrom] = useState(names[0] ?? "");
  const [to, setTo] = useState(names[1] ?? names[0] ?? "");
  const [field, setField] = useState("");
  const [other, setOther] = useState("");
  const ours = [...fieldsOf(kinds, from), ...(latency ? COMMON : [])];
  const theirs = [...fieldsOf(kinds, to), ...COMMON];
  const key = ours.includes(field) ? field : (ours[0] ?? "");
  const match = theirs.includes(other) ? other : theirs.includes(key) ? key : (theirs[0] ?? "");
  const close = (): void => app.ui.set({ dialog: null });
  const sql = latency ? latencyPlot(from, to, key, match) : fieldPlot(from, key);
  const title = latency ? `${from} to ${to} by ${key}` : `${from} ${key}`;
  return (
    <dialog class="plot" ref={ref} onClose={close} aria-label={latency ? "Plot a latency" : "Plot a field"}>
      <form
        method="dialog"
        onSubmit={() => {
          if (names.length) void addPlot(app, { title, sql });
        }}
      >
        <h2>{latency ? "From one event to another" : "A field over time"}</h2>
        {!names.length && <p>No event of this recording has fields.</p>}
        <Choice label={latency ? "from" : "event"} value={from} options={names} set={setFrom} />
        <Choice label={latency ? "whose" : "field"} value={key} options={ours} set={setField} />
        {latency && <Choice label="to the next" value={to} options={names} set={setTo} />}
        {latency && <Choice label="with the same" value={match} options={theirs} set={setOther} />}
        <pre>{sql}</pre>
        <div class="line">
          <button type="submit" class="main">
            Plot
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
