/** Keys, the pointer, and what the colours mean. */
import { useEffect, useRef } from "preact/hooks";
import { css } from "../draw/colours";
import { COMMANDS, type Command } from "../input/commands";
import { useApp } from "./hooks";

const POINTER: [string, string][] = [
  ["drag", "pans, and scrolls the rows"],
  ["Shift + drag", "selects a time and the rows that it goes over; in the ruler, all rows"],
  ["click", "shows the details of a slice, and takes the list there"],
  ["double click", "zooms in"],
  ["wheel", "scrolls the rows; with Ctrl or Alt it zooms, with Shift it pans; in the ruler it zooms"],
  ["Ctrl + click on a name", "takes the row into the selection, or out of it"],
  ["drag a flag", "moves a marker"],
];

export function Help() {
  const app = useApp();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  const groups = [...new Set(COMMANDS.map((c) => c.group))];
  const { theme } = app;
  const colours: [number, string][] = [
    [theme.cpus[0]!, "a thread runs: coloured by its CPU; on CPUs, by the name of the thread"],
    [theme.woken, "it was woken up and waits for a CPU: wake-up latency"],
    [theme.preempted, "it was preempted; on CPUs, the mark at the end of such a slice"],
    [theme.runnable, "it could run, for another reason"],
    [theme.sleeping, "it sleeps (thin)"],
    [theme.blocked, "it is blocked, mostly by a disk or a lock of the kernel (thin)"],
    [theme.error, "a system call failed"],
  ];
  return (
    <dialog class="help" ref={ref} onClose={() => app.ui.set({ dialog: null })} aria-label="Help">
      <form method="dialog">
        <h2>Keys</h2>
        <button type="submit" class="icon" aria-label="Close">
          ×
        </button>
      </form>
      <div class="keys">
        {groups.map((g) => (
          <section key={g}>
            <h3>{g}</h3>
            <dl>
              {COMMANDS.filter((c) => c.group === g).map((c) => (
                <Key key={c.title} command={c} />
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>Pointer</h3>
          <dl>
            {POINTER.map(([what, does]) => (
              <div key={what}>
                <dt>{what}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h3>Colours</h3>
          <dl>
            {colours.map(([colour, means]) => (
              <div key={means}>
                <dt>
                  <i class="swatch" style={{ background: css(colour) }} />
                </dt>
                <dd>{means}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h3>Filters</h3>
          <p>
            <code>task == "bash"</code>, <code>event ~ "sched:*"</code>, <code>cpu in 0,2-3</code>,{" "}
            <code>pid == 12</code>, <code>prev_prio &lt; 100</code>, with <code>and</code>, <code>or</code>,{" "}
            <code>not</code> and parentheses. Alt and a click on a value of the list narrows the filter to it.
          </p>
        </section>
      </div>
    </dialog>
  );
}

function Key({ command }: { command: Command }) {
  return (
    <div>
      <dt>
        {command.keys.map((k) => (
          <kbd key={k}>{k}</kbd>
        ))}
      </dt>
      <dd>{command.title}</dd>
    </div>
  );
}
