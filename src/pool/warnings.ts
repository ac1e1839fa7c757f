/**
 * Warnings about posts, and about unknown fields. The posts of a warning are counted, and the first few are named.
 */
import { clipText } from '../base/index.js'
import { unknownFieldWarningCountMax, type Warning, type WarningCode } from '../contract/index.js'

const postCountMax = 5
const gallIdCharsMax = 80

/** A post's name for messages. A long gallery id is cut. */
export function shortPostName(gallId: string, postNo: number): string {
  return `${clipText(gallId, gallIdCharsMax)}/${postNo}`
}

/** One kind of warning, with the posts that it concerns. */
export class PostWarning {
  readonly #code: WarningCode
  readonly #posts: string[] = []
  #count = 0

  constructor(code: WarningCode) {
    this.#code = code
  }

  add(gallId: string, postNo: number): void {
    this.#count++
    if (this.#posts.length >= postCountMax) return
    this.#posts.push(shortPostName(gallId, postNo))
  }

  /** The warning, or nothing without a post. */
  list(): Warning[] {
    if (this.#count === 0) return []
    const more = this.#count > this.#posts.length ? ', …' : ''
    return [{ code: this.#code, count: this.#count, detail: `${this.#posts.join(', ')}${more}` }]
  }
}

export function unknownFieldWarnings(names: readonly string[]): Warning[] {
  return names
    .slice(0, unknownFieldWarningCountMax)
    .map((name) => ({ code: 'unknown_field', count: null, detail: name }))
}
