/** A value that changes, and who wants to hear of it. */

export class Store<T extends object> {
  private readonly listeners = new Set<(now: T, before: T) => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(change: Partial<T>): void {
    const before = this.value;
    const keys = Object.keys(change) as (keyof T)[];
    if (keys.every((k) => Object.is(before[k], change[k]))) return;
    this.value = { ...before, ...change };
    for (const listener of [...this.listeners]) listener(this.value, before);
  }

  listen(listener: (now: T, before: T) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
