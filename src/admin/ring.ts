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

  /** Oldest first. */
  get items(): readonly Item[] {
    return this.#items
  }

  get last(): Item | undefined {
    return this.#items.at(-1)
  }
}
