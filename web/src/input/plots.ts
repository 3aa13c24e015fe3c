/** Tracks made of queries: added, and made again when a session is opened. */
import type { App } from "../app";
import type { Track } from "../source/types";
import type { Plot } from "../state/state";
import { revealTrack, tell } from "./actions";

async function made(app: App, plot: Plot): Promise<Track> {
  const { head } = await app.source.ask<{ track: Track }>("plot", { ...plot });
  return head.track;
}

export async function addPlot(app: App, plot: Plot): Promise<void> {
  try {
    const track = await made(app, plot);
    const { plots } = app.state.get();
    app.state.set({ plots: [...plots.filter((p) => p.title !== plot.title), plot] });
    app.tree.reset();
    await revealTrack(app, track.id);
    app.say(`${plot.title} is a track now`);
  } catch (e) {
    tell(app, e);
  }
}

/** All of a session: one that fails is told of, and the others are there. */
export async function restorePlots(app: App, plots: Plot[]): Promise<void> {
  if (!plots.length || app.source.fixed) return;
  const results = await Promise.allSettled(plots.map((p) => made(app, p)));
  for (const r of results) if (r.status === "rejected") tell(app, r.reason);
  app.tree.reset();
}
