/** The server, over a websocket. A lost connection is taken up again; what was open then is asked once more. */
import { oneLine } from "./text";
import { type Head, type Push, Refused, type Reply, type Source } from "./types";
import { decode } from "./wire";

interface Open {
  message: string;
  done: (reply: Reply) => void;
  failed: (why: Error) => void;
}

const FIRST_WAIT = 250;
const LONGEST_WAIT = 8000;
/** The server takes 64 at a time, and what is drawn has its own, smaller limit (tiles/pump). */
const MOST = 48;

export class SocketSource implements Source {
  readonly fixed = false;
  private socket: WebSocket | null = null;
  private next = 1;
  private wait = FIRST_WAIT;
  private readonly open = new Map<number, Open>();
  private readonly queued: number[] = [];
  private readonly sent = new Set<number>();
  private readonly names = new Map<number, string>();
  private heard: (push: Push) => void = () => {};
  private state: (connected: boolean) => void = () => {};

  constructor(private readonly address: string) {
    this.connect();
  }

  name(id: number): string {
    return this.names.get(id) ?? "";
  }

  onPush(heard: (push: Push) => void): void {
    this.heard = heard;
  }

  onState(heard: (connected: boolean) => void): void {
    this.state = heard;
  }

  ask<H = Head>(op: string, args: object, signal?: AbortSignal): Promise<Reply<H>> {
    const id = this.next++;
    return new Promise<Reply<H>>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const done = resolve as (reply: Reply) => void;
      this.open.set(id, { message: JSON.stringify({ id, op, args }), done, failed: reject });
      signal?.addEventListener("abort", () => this.cancel(id, signal), { once: true });
      this.queued.push(id);
      this.flush();
    });
  }

  private cancel(id: number, signal: AbortSignal): void {
    const open = this.open.get(id);
    if (!open) return;
    this.open.delete(id);
    open.failed(signal.reason as Error);
    if (this.sent.has(id)) this.socket?.send(JSON.stringify({ cancel: id }));
  }

  private flush(): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    while (this.queued.length && this.sent.size < MOST) {
      const id = this.queued.shift()!;
      const open = this.open.get(id);
      if (!open) continue;
      this.sent.add(id);
      this.socket.send(open.message);
    }
  }

  private connect(): void {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      // names are told once a connection: what is known stays, a new server tells them again
      this.state(true);
      this.flush();
    };
    socket.onmessage = (event) => this.receive(decode(event.data as ArrayBuffer));
    socket.onclose = () => this.lost();
  }

  private lost(): void {
    this.state(false);
    this.queued.unshift(...[...this.sent].filter((id) => this.open.has(id)));
    this.sent.clear();
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  private receive(reply: Reply): void {
    const { id, names } = reply.head as { id: number; names?: Record<string, string> };
    if (names) for (const [key, text] of Object.entries(names)) this.names.set(Number(key), oneLine(text));
    if (id === 0) {
      this.heard(reply.head as unknown as Push);
      return;
    }
    this.sent.delete(id);
    const open = this.open.get(id);
    this.open.delete(id);
    this.flush();
    if (!open) return;
    const { ok, error, hint, at } = reply.head as { ok: boolean; error?: string; hint?: string; at?: number | null };
    if (ok) open.done(reply);
    else open.failed(new Refused(error ?? "the server gave no reason", hint, at));
  }
}
