/**
 * Warnings of a response: one line per kind, with its count and the first few posts that it concerns
 * (decisions.md 33).
 */
import { unknownFieldWarningCountMax } from '../contract/index.js'

const postCountMax = 5
const gallIdCharsMax = 80

/** A post's name for messages. A long gallery id is cut. */
export function shortPostName(gallId: string, postNo: number): string {
  const name = gallId.length <= gallIdCharsMax ? gallId : `${gallId.slice(0, gallIdCharsMax)}…`
  return `${name}/${postNo}`
}

/** One kind of warning, with the posts that it concerns. */
export class PostWarning {
  readonly #kind: string
  readonly #posts: string[] = []
  #count = 0

  constructor(kind: string) {
    this.#kind = kind
  }

  add(gallId: string, postNo: number): void {
    this.#count++
    if (this.#posts.length >= postCountMax) return
    this.#posts.push(shortPostName(gallId, postNo))
  }

  /** One line, or none without a post. */
  lines(): string[] {
    if (this.#count === 0) return []
    const more = this.#count > this.#posts.length ? ', …' : ''
    return [`${this.#kind} (${this.#count}): ${this.#posts.join(', ')}${more}`]
  }
}

export function unknownFieldLines(names: readonly string[]): string[] {
  return names.slice(0, unknownFieldWarningCountMax).map((name) => `unknown field: ${name}`)
}

/** The kind of a warning: its text before the count, the posts or the details. */
export function warningKind(warning: string): string {
  return /^.*?(?= \(\d+\): |: |$)/s.exec(warning)?.[0] ?? ''
}
