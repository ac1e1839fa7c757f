/**
 * A number for each post of an export, under which staged rows name it.
 */
import type { KeyColumns } from '../../contract/index.js'
import type { Staging } from './staging.js'

export class PostNumbers {
  readonly #staging: Staging
  readonly #byGallery = new Map<string, Map<number, number>>()
  #count = 0

  constructor(staging: Staging) {
    this.#staging = staging
  }

  number(gallId: string, postNo: number): number {
    const numbers = this.#ofGallery(gallId)
    let number = numbers.get(postNo)
    if (number === undefined) {
      number = this.#count++
      numbers.set(postNo, number)
      this.#staging.addPost(number, gallId, postNo)
    }
    return number
  }

  /** The numbers of the posts of some rows. */
  numbers({ count, gallery, postNo }: KeyColumns, galleries: readonly string[]): Int32Array {
    return Int32Array.from({ length: count }, (_, row) =>
      this.number(galleries[gallery[row] as number] as string, postNo[row] as number),
    )
  }

  #ofGallery(gallId: string): Map<number, number> {
    let numbers = this.#byGallery.get(gallId)
    if (numbers === undefined) {
      numbers = new Map()
      this.#byGallery.set(gallId, numbers)
    }
    return numbers
  }
}
