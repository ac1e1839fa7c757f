/**
 * String interning of gallery ids: each id once, in order of first appearance. An id's code is its index.
 */

export class GalleryTable {
  readonly ids: string[] = []
  readonly #codes = new Map<string, number>()

  /** The code of an id. Adds an id that is new. */
  code(id: string): number {
    const known = this.#codes.get(id)
    if (known !== undefined) return known
    this.#codes.set(id, this.ids.length)
    return this.ids.push(id) - 1
  }
}
