/** Everything by its name: commands, and tracks. */
import { useEffect, useRef, useState } from "preact/hooks";
import { revealTrack, tell } from "../input/actions";
import { COMMANDS } from "../input/commands";
import { fuzzy } from "../input/keymap";
import type { Track } from "../source/types";
import { useApp, useAsk } from "./hooks";

interface Entry {
  title: string;
  note: string;
  run: () => void;
}

const MOST = 14;

export function Palette() {
  const app = useApp();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const ref = useRef<HTMLDialogElement>(null);
  const { reply } = useAsk<{ tracks: Track[] }>(
    "tracks",
    text.length > 1 ? { find: text, offset: 0, limit: 6, parent: null } : null,
  );
  const close = (): void => app.ui.set({ dialog: null });
  useEffect(() => ref.current?.showModal(), []);
  const commands: (Entry & { score: number })[] = COMMANDS.map((c) => ({
    title: c.title,
    note: c.keys.join("  "),
    run: () => c.run(app),
    score: fuzzy(text, c.title),
  })).filter((e) => e.score > 0);
  const tracks: Entry[] = (text.length > 1 ? (reply?.head.tracks ?? []) : []).map((t) => ({
    title: t.name,
    note: `${t.kind} ${t.sub ?? ""}`,
    run: () => revealTrack(app, t.id).catch((e) => tell(app, e)),
  }));
  const entries = [...commands.sort((a, b) => b.score - a.score).slice(0, MOST), ...tracks];
  const chosen = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined): void => {
    close();
    entry?.run();
  };
  const keys = (e: KeyboardEvent): void => {
    if (e.key === "ArrowDown") setAt(Math.min(chosen + 1, entries.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (e.key === "Enter") run(entries[chosen]);
    else return;
    e.preventDefault();
  };
  return (
    <dialog class="palette" ref={ref} onClose={close} aria-label="Commands">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Command or track"
        placeholder="Command or track"
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={keys}
      />
      <div id="palette-list" role="listbox" aria-label="What fits">
        {entries.map((e, i) => (
          <button
            type="button"
            key={`${e.title} ${e.note}`}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === chosen}
            class={i === chosen ? "on" : ""}
            tabIndex={-1}
            onClick={() => run(e)}
          >
            <span>{e.title}</span>
            {e.note && <kbd>{e.note}</kbd>}
          </button>
        ))}
      </div>
    </dialog>
  );
}
