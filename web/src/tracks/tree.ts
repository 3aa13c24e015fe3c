/**
 * The tracks that there are, as far as they were looked at. Groups tell how many children they have; children come in
 * pages, when somebody looks: a hundred thousand threads cost nothing until then.
 */
import type { Source, Track } from "../source/types";

const PAGE = 200;

export class Node {
  children: Node[] | null = null;
  constructor(
    public track: Track | null,
    readonly parent: Node | null,
    readonly index: number,
    readonly depth: number,
  ) {}
}

export class Tree {
  readonly root = new Node(null, null, 0, -1);
  private readonly byId = new Map<string, Node>();
  private readonly known = new Map<string, Track>();
  private readonly asked = new Set<string>();
  find = "";
  sort = "";
  total = 0;

  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
  ) {}

  track(id: string): Track | undefined {
    return this.known.get(id);
  }

  node(id: string): Node | undefined {
    return this.byId.get(id);
  }

  /** Forgets the children of everything: after a change of order, of what is looked for, or of the recording. */
  reset(): void {
    this.root.children = null;
    this.byId.clear();
    this.asked.clear();
    void this.load(this.root, 0);
  }

  /** Asks anew for what is known, and keeps it until the answers are here: for a recording that grows. */
  refresh(): void {
    const again = [...this.asked];
    this.asked.clear();
    for (const key of again) {
      const at = key.lastIndexOf(" ");
      const node = at ? this.byId.get(key.slice(0, at)) : this.root;
      if (node) void this.load(node, Number(key.slice(at + 1)));
    }
  }

  /** Sees to it that a child of a node is known, soon. */
  async load(node: Node, index: number): Promise<void> {
    const offset = Math.floor(index / PAGE) * PAGE;
    const key = `${node.track?.id ?? ""} ${offset}`;
    if (this.asked.has(key)) return;
    this.asked.add(key);
    const parent = node.track?.id ?? null;
    const asked = { parent, offset, limit: PAGE, find: this.find, sort: this.sort };
    try {
      const { head } = await this.source.ask<{ total: number; tracks: Track[] }>("tracks", asked);
      if (this.find !== asked.find || this.sort !== asked.sort) return;
      this.fill(node, offset, head.total, head.tracks);
    } catch {
      this.asked.delete(key);
    }
    this.changed();
  }

  private fill(node: Node, offset: number, total: number, tracks: Track[]): void {
    const children = node.children ?? [];
    for (let i = children.length; i < total; i++) children.push(new Node(null, node, i, node.depth + 1));
    children.length = total;
    tracks.forEach((track, i) => {
      let child = children[offset + i];
      if (!child) return;
      if (child.track?.id !== track.id) {
        // in its place there is another one now: what is below it moves along
        child = new Node(track, node, offset + i, node.depth + 1);
        child.children = this.byId.get(track.id)?.children ?? null;
        children[offset + i] = child;
      }
      child.track = track;
      this.byId.set(track.id, child);
      this.known.set(track.id, track);
    });
    node.children = children;
    if (node === this.root) this.total = total;
  }

  /** Tracks by their ids, from wherever they are. */
  async fetch(ids: string[]): Promise<Track[]> {
    const missing = ids.filter((id) => !this.known.has(id));
    if (missing.length) {
      const { head } = await this.source.ask<{ tracks: Track[] }>("tracks", { ids: missing, sort: this.sort });
      for (const track of head.tracks) this.known.set(track.id, track);
    }
    return ids.map((id) => this.known.get(id)).filter((t) => t !== undefined);
  }

  /** Groups that a track is in, outermost first, all of them loaded so far that the track is known to the tree. */
  async path(id: string): Promise<Track[]> {
    const above: Track[] = [];
    let [track] = await this.fetch([id]);
    while (track?.parent) {
      const inner: Track = track;
      [track] = await this.fetch([inner.parent!]);
      if (track) above.unshift(track);
    }
    let node: Node = this.root;
    for (const step of [...above, ...(await this.fetch([id]))]) {
      if (!node.children) await this.load(node, 0);
      if (!this.byId.has(step.id)) await this.load(node, step.index ?? 0);
      const found = this.byId.get(step.id);
      if (!found) break;
      node = found;
    }
    return above;
  }
}
