/** All that is known of what was picked, with its stack, and what belongs to it. */
import { activate, take, tell } from "../input/actions";
import { both, ofTrack } from "../lang/filter";
import { clock, duration, exact } from "../time/format";
import { around } from "../time/view";
import { useApp, useAsk, useChosen, useUi } from "./hooks";
import { Problem } from "./parts";

interface Related {
  label: string;
  track?: string;
  ts?: number;
  id?: number;
  kind?: string;
  end?: number;
}

interface Frame {
  function: string;
  module?: string;
  file?: string;
  line?: number;
  kernel?: boolean;
  inlined?: boolean;
}

interface Detail {
  title: string;
  pairs: [string, string][];
  stack?: Frame[];
  related?: Related[];
}

export function Details() {
  const app = useApp();
  const picked = useChosen((s) => s.picked);
  const { reply, error } = useAsk<Detail>("detail", picked && { kind: picked.kind, id: picked.id }, 0);
  if (!picked) return <OfTrack />;
  if (error) return <Problem error={error} />;
  const head = reply?.head;
  return (
    <div class="details">
      <div class="scroll" tabIndex={0} role="region" aria-label="Details">
        <h2 data-testid="detail-title">{head?.title || picked.name || picked.kind}</h2>
        <dl>
          <Pair name="begins" text={`${exact(picked.start)} ${clock(picked.start, app.opened.wall)}`} />
          {picked.end > picked.start && <Pair name="takes" text={duration(picked.end - picked.start)} />}
          {(head?.pairs ?? [])
            .filter(([name]) => !SHOWN.has(name))
            .map(([name, text]) => (
              <Pair key={name} name={name} text={String(text)} />
            ))}
        </dl>
        <div class="line">
          {picked.end > picked.start && (
            <>
              <button type="button" onClick={() => app.motion.go(around(picked))}>
                Fit
              </button>
              <button
                type="button"
                onClick={() => {
                  const tracks = picked.track ? [picked.track] : null;
                  app.state.set({ selection: { start: picked.start, end: picked.end, tracks } });
                }}
              >
                Select its time
              </button>
            </>
          )}
          {head?.related?.map((r, i) => (
            <Link key={`${r.label} ${i}`} r={r} />
          ))}
        </div>
      </div>
      {!!head?.stack?.length && (
        <ol class="stack" aria-label="Stack, innermost frame first">
          {head.stack.map((frame, i) => (
            <li key={i}>
              {frame.function}
              <span class="dim">
                {frame.inlined ? " inlined" : ""} {where(frame)}
              </span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function where(f: Frame): string {
  if (f.file) return `${f.file.split("/").at(-1)}${f.line ? `:${f.line}` : ""}`;
  return f.module?.split("/").at(-1) ?? "";
}

/** What the head says already. */
const SHOWN = new Set(["ts", "dur", "end_ts"]);

function Pair({ name, text }: { name: string; text: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}

function Link({ r }: { r: Related }) {
  const app = useApp();
  const go = (): void => {
    if (r.ts !== undefined) take(app, { ...r, thing: r.id ?? 0, name: r.label }).catch((e) => tell(app, e));
    else if (r.track) activate(app, r.track);
  };
  return (
    <button type="button" onClick={go}>
      {r.label}
    </button>
  );
}

/** Without anything picked: the row that is active. */
function OfTrack() {
  const app = useApp();
  const active = useUi((u) => u.active);
  const track = active ? app.tree.track(active) : undefined;
  if (!track) return <p class="empty">Click on a slice or an event to see all that is known of it.</p>;
  const filter = ofTrack(track);
  return (
    <div class="details">
      <div class="scroll" tabIndex={0} role="region" aria-label="Details">
        <h2>{track.name}</h2>
        <dl>
          {track.sub && <Pair name="is" text={track.sub} />}
          {track.busy !== undefined && track.busy > 0 && (
            <Pair name="busy" text={`${(track.busy * 100).toFixed(2)} %`} />
          )}
        </dl>
        {filter && (
          <div class="line">
            <button type="button" onClick={() => app.state.set({ filter })}>
              Only this
            </button>
            <button
              type="button"
              onClick={() => app.state.set({ filter: both(app.state.get().filter, `not ${filter}`) })}
            >
              All but this
            </button>
          </div>
        )}
        <p class="dim">Click on a slice or an event to see all that is known of it.</p>
      </div>
    </div>
  );
}
