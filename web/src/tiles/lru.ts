/** What was used last stays, as long as all of it is not more than so many bytes. */

export interface Sized {
  bytes: number;
}

export class Lru<T extends Sized> {
  private readonly items = new Map<string, T>();
  private bytes = 0;

  constructor(private readonly most: number) {}

  get(key: string): T | undefined {
    const item = this.items.get(key);
    if (!item) return undefined;
    // a Map keeps the order of insertion: the first is the one that was not asked for longest
    this.items.delete(key);
    this.items.set(key, item);
    return item;
  }

  set(key: string, item: T): void {
    this.delete(key);
    this.items.set(key, item);
    this.bytes += item.bytes;
    for (const [old] of this.items) {
      if (this.bytes <= this.most || old === key) break;
      this.delete(old);
    }
  }

  delete(key: string): void {
    const item = this.items.get(key);
    if (!item) return;
    this.bytes -= item.bytes;
    this.items.delete(key);
  }

  clear(): void {
    this.items.clear();
    this.bytes = 0;
  }

  get size(): number {
    return this.bytes;
  }
}
