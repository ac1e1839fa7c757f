/** Listeners of one kind of event. */
export class Topic<T extends readonly unknown[]> {
  readonly #listeners = new Set<(...event: T) => void>()

  /** Returns a function that removes the listener. */
  on(listener: (...event: T) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  emit(...event: T): void {
    for (const listener of this.#listeners) listener(...event)
  }
}
