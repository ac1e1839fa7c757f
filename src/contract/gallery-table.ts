/**
 * String interning of gallery ids: each id once, in order of first appearance. An id's code is its index.
 */

/**
 * Gallery ids by code. The searching methods of an array are left out: a client sends up to 75,000 galleries, and a search
 * for each row of a request would block the event loop for seconds. A code is looked up in a `GalleryTable` or `SlotIndex`.
 */
export type GalleryIds = Pick<readonly string[], number | 'length' | 'map' | 'slice' | typeof Symbol.iterator>

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
