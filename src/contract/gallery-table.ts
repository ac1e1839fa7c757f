/**
 * Gallery ids as codes: each id once, in order of first appearance, its code being its place.
 */

export class GalleryTable {
  readonly ids: string[] = []
  readonly #codes = new Map<string, number>()

  /** The code of an id, which may be new. */
  code(id: string): number {
    const known = this.#codes.get(id)
    if (known !== undefined) return known
    this.#codes.set(id, this.ids.length)
    return this.ids.push(id) - 1
  }
}
