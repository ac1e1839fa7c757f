/**
 * A corpus of Korean titles and paragraphs, generated once, so that a cycle of 500 posts takes only milliseconds.
 */
// The text generator of the simulator, which its index.ts does not export.
import { bodyHtml, titleText, topics } from '../../src/simulator/korean-text.js'
import { Rng } from '../../src/simulator/rng.js'

const titleCount = 4000
const paragraphCount = 4000

interface Paragraph {
  readonly html: string
  /** Length inside a JSON string, in UTF-8 bytes. */
  readonly jsonBytes: number
}

export class TextCorpus {
  readonly #titles: readonly string[]
  readonly #paragraphs: readonly Paragraph[]

  constructor(seed: number) {
    const rng = new Rng('bench texts', seed)
    this.#titles = Array.from({ length: titleCount }, () => titleText(rng, rng.pick(topics)))
    this.#paragraphs = Array.from({ length: paragraphCount }, () => {
      const html = bodyHtml(rng, rng.pick(topics), { charsAim: 1, imageCount: 0 })
      return { html, jsonBytes: jsonBytes(html) }
    })
  }

  title(rng: Rng): string {
    return rng.pick(this.#titles)
  }

  /** Paragraphs of about `chars` characters, at least one. */
  body(rng: Rng, chars: number): string {
    const parts: string[] = []
    let length = 0
    for (let at = rng.int(0, paragraphCount - 1); length < chars; at++) {
      const { html } = this.#paragraphs[at % paragraphCount]!
      parts.push(html)
      length += html.length
    }
    return parts.join('')
  }

  /** Text that has exactly `bytes` bytes in a JSON string: paragraphs, padded with full stops. */
  filling(rng: Rng, bytes: number): string {
    const parts: string[] = []
    let left = bytes
    for (let at = rng.int(0, paragraphCount - 1); ; at++) {
      const paragraph = this.#paragraphs[at % paragraphCount]!
      if (paragraph.jsonBytes > left) break
      parts.push(paragraph.html)
      left -= paragraph.jsonBytes
    }
    return parts.join('') + '.'.repeat(left)
  }
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
