/** Names of the rows that are on the screen: a tree for the eye, the keyboard and the screen reader. */
import { activate, pin, toggle } from "../input/actions";
import type { Track } from "../source/types";
import { kindOf } from "../tracks/kinds";
import type { Row } from "../tracks/rows";
import { useApp, useChosen, useUi } from "./hooks";

const idOf = (row: Row): string => `row-${row.pinned ? "pin-" : ""}${row.track?.id ?? "?"}`;

export function Names() {
  const app = useApp();
  const [rows, pinned, scroll, height, active] = useUi(
    (u) => [u.rows, u.pinned, u.scroll, u.height, u.active] as const,
  );
  const top = app.pinnedHeight;
  const shown = rows.filter((r) => r.y + r.height > scroll && r.y < scroll + height - top);
  const focused = shown.find((r) => r.track?.id === active) ?? pinned.find((r) => r.track?.id === active);
  for (const row of shown) if (!row.track && row.node) void app.tree.load(row.node.parent!, row.node.index);
  return (
    <div
      class="names"
      role="treegrid"
      aria-label="Tracks"
      aria-rowcount={rows.length}
      tabIndex={0}
      data-tracks
      {...(focused ? { "aria-activedescendant": idOf(focused) } : {})}
      onWheel={(e) => {
        e.preventDefault();
        app.scrollTo(scroll + e.deltaY);
      }}
    >
      <div class="rows" style={{ top: `${top}px` }}>
        {shown.map((row) => (
          <Name key={idOf(row)} row={row} y={row.y - scroll} active={row.track?.id === active} at={rows.indexOf(row)} />
        ))}
      </div>
      {pinned.length > 0 && (
        <div class="pins" style={{ height: `${top}px` }}>
          {pinned.map((row, i) => (
            <Name key={idOf(row)} row={row} y={row.y} active={row.track?.id === active} at={i} />
          ))}
        </div>
      )}
    </div>
  );
}

function Name({ row, y, active, at }: { row: Row; y: number; active: boolean; at: number }) {
  const app = useApp();
  const { track } = row;
  const style = { transform: `translateY(${y}px)`, height: `${row.height}px`, paddingLeft: `${4 + row.depth * 12}px` };
  if (!track) return <div class="name waiting" style={style} />;
  const kind = kindOf(track.kind);
  return (
    <div
      id={idOf(row)}
      class={`name ${track.kind} ${active ? "active" : ""} ${kind.op ? "" : "head"}`}
      style={style}
      role="row"
      aria-level={row.depth + 1}
      aria-rowindex={at + 1}
      aria-selected={active}
      {...(track.children ? { "aria-expanded": row.open } : {})}
      aria-label={`${track.name} ${track.sub ?? ""}, ${kind.about}`}
      onClick={(e) => click(app, track, e)}
      onDblClick={() => track.children && toggle(app, track)}
    >
      {track.children && !row.pinned ? (
        <button
          type="button"
          class="twist"
          tabIndex={-1}
          aria-label={row.open ? "close" : "open"}
          onClick={(e) => {
            e.stopPropagation();
            toggle(app, track);
          }}
        >
          {row.open ? "▾" : "▸"}
        </button>
      ) : (
        <span class="twist" />
      )}
      <span class="text" title={`${track.name} ${track.sub ?? ""}`}>
        {track.name}
      </span>
      {track.sub && <span class="sub">{track.sub}</span>}
      <span class="gap" />
      {track.busy !== undefined && track.busy > 0 && <Busy track={track} />}
      <Pin track={track} />
    </div>
  );
}

function click(app: ReturnType<typeof useApp>, track: Track, e: MouseEvent): void {
  activate(app, track.id);
  if (!e.ctrlKey && !e.metaKey) return;
  // ctrl and a click take rows into the selection, or out of it
  const { selection, view } = app.state.get();
  const range = selection ?? { ...view, tracks: null };
  const had = range.tracks ?? [];
  const tracks = had.includes(track.id) ? had.filter((t) => t !== track.id) : [...had, track.id];
  app.state.set({ selection: { start: range.start, end: range.end, tracks: tracks.length ? tracks : null } });
}

function Busy({ track }: { track: Track }) {
  const part = Math.min(1, track.busy ?? 0);
  const text = `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
  return (
    <span class="busy" title={`busy ${text} of the time`}>
      <i style={{ width: `${Math.max(part * 100, 3)}%` }} />
    </span>
  );
}

function Pin({ track }: { track: Track }) {
  const app = useApp();
  const pinned = useChosen((s) => s.pins.includes(track.id));
  return (
    <button
      type="button"
      class={`pin ${pinned ? "on" : ""}`}
      tabIndex={-1}
      aria-label={pinned ? "unpin" : "pin"}
      title={pinned ? "unpin" : "pin to the top"}
      onClick={(e) => {
        e.stopPropagation();
        pin(app, track.id);
      }}
    >
      {pinned ? "●" : "○"}
    </button>
  );
}
