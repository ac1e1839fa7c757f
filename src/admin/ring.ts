/** A list that holds the newest items up to a bound. */

export class Ring<Item> {
  readonly #countMax: number
  readonly #items: Item[] = []

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  add(item: Item): void {
    this.#items.push(item)
    if (this.#items.length > this.#countMax) this.#items.shift()
  }

  /** Drops the oldest items as long as `isOld` is true. */
  dropWhile(isOld: (item: Item) => boolean): void {
    const kept = this.#items.findIndex((item) => !isOld(item))
    this.#items.splice(0, kept < 0 ? this.#items.length : kept)
  }

  /** Oldest first. */
  get items(): readonly Item[] {
    return this.#items
  }

  get last(): Item | undefined {
    return this.#items.at(-1)
  }
}
