/** Where the page begins: it finds out where its data are, opens them, and is there. */
import { render } from "preact";
import { App } from "./app";
import type { Frames } from "./draw/clock";
import { fileSource } from "./source/file";
import { SocketSource } from "./source/socket";
import { type Opened, Refused, type Source } from "./source/types";
import "./style.css";
import { Context } from "./ui/hooks";
import { Page } from "./ui/page";
import { RecordForm } from "./ui/record";

declare global {
  interface Window {
    probescope: { frames: () => Frames; app: App };
  }
}

const root = document.getElementById("app")!;

function tell(text: string, problem = false): void {
  render(
    <p class={problem ? "opening problem" : "opening"} role={problem ? "alert" : "status"}>
      {text}
    </p>,
    root,
  );
}

const STEPS: Record<string, string> = { percent: "Reading the recording" };

/** How far the server is with what it makes of a recording that it opens first. */
function step(what: string, done: number): void {
  const text = STEPS[what] ?? `Making what is drawn of ${what.replace("_", " ")}`;
  render(
    <p class="opening" role="status">
      {text}: {Math.round(done * 100)} %
      <progress value={done} max={1} aria-label={text} />
    </p>,
    root,
  );
}

function socket(): Source {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return new SocketSource(`${scheme}://${location.host}/ws?token=${encodeURIComponent(token)}`);
}

let attempts = 0;

/** The server lets the page say what is recorded. */
function wish(source: Source, error: string): void {
  render(<RecordForm source={source} error={error} attempt={attempts++} />, root);
}

const opening: Promise<Source> = fileSource(document).then((file) => file ?? socket());

async function begin(): Promise<void> {
  const source = await opening;
  source.onState((connected) => !connected && tell("There is no connection to the server. Is it still running?", true));
  source.onPush((p) => {
    if (p.push === "form") wish(source, p.error ?? "");
    else if (p.push === "progress") step(p.what ?? "percent", p.done ?? 0);
  });
  const { head } = await source.ask<Opened>("open", {});
  const app = new App(source, head);
  window.probescope = { frames: () => app.clock.frames(), app };
  render(
    <Context.Provider value={app}>
      <Page />
    </Context.Provider>,
    root,
  );
  document.body.dataset.ready = "";
}

tell("Opening the recording…");
begin().catch(async (e) => {
  // the server ends after that: what it said stays
  const source = await opening.catch(() => null);
  source?.onState(() => {});
  source?.onPush(() => {});
  tell(
    [e instanceof Error ? e.message : String(e), e instanceof Refused ? e.hint : ""].filter(Boolean).join(" — "),
    true,
  );
});
