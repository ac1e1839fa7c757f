/**
 * Reduces HTML to its text: entities decoded, scripts and styles removed, a line per block, white space collapsed.
 * Training must reduce bodies in the same way: docs/models.md states these rules.
 */
import { Parser } from 'htmlparser2'

/** Elements whose text is not shown, or is shown only in place of something else. */
const hiddenElements = new Set(
  'script style template noscript noembed noframes iframe object video audio canvas svg select head title'.split(
    ' ',
  ),
)

/** A line begins before and after each of these. */
const blockElements = new Set(
  (
    'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre ' +
    'search section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
)

/** They separate words; the alt text of an image is removed. */
const spacedElements = new Set(['img', ...hiddenElements])

/**
 * Browsers flatten at 512, and the cost of the parser's stack grows with its depth at every tag: the text that follows
 * is removed.
 */
const depthMax = 512

/** Characters of HTML that are parsed at a time; after each chunk the length of the text is checked. */
const chunkChars = 16_384

/** The text of `html`, cut to at most `charsMax` UTF-16 units; whole characters only. */
export function htmlToText(html: string, charsMax: number): string {
  const text = new TextCollector()
  const parser = new Parser({
    onopentagname: (name) => text.open(name),
    onclosetag: (name) => text.close(name),
    ontext: (data) => text.add(data),
  })
  for (let at = 0; at < html.length && !text.isTooDeep && text.length < charsMax; at += chunkChars) {
    parser.write(html.slice(at, at + chunkChars))
  }
  if (!text.isTooDeep) parser.end()
  return cutChars(text.toString(), charsMax)
}

/** The first `charsMax` UTF-16 units, or one less if that would cut a character in two. */
export function cutChars(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const isCut = text.charCodeAt(charsMax - 1) >> 10 === 0xd800 >> 10
  return text.slice(0, isCut ? charsMax - 1 : charsMax)
}

class TextCollector {
  #text = ''
  /** Separates the text so far from the next word. */
  #gap: '' | ' ' | '\n' = ''
  #hiddenDepth = 0
  #depth = 0

  /** The rest of the text is ignored then. */
  isTooDeep = false

  get length(): number {
    return this.#text.length
  }

  open(name: string): void {
    this.#depth++
    if (this.#depth > depthMax) this.isTooDeep = true
    if (hiddenElements.has(name)) this.#hiddenDepth++
    this.#separate(name)
  }

  close(name: string): void {
    this.#depth--
    if (hiddenElements.has(name)) this.#hiddenDepth--
    this.#separate(name)
  }

  add(data: string): void {
    if (this.#hiddenDepth > 0 || this.isTooDeep) return
    const collapsed = data.replace(/\s+/g, ' ')
    const words = collapsed.trim()
    if (collapsed.startsWith(' ')) this.#gap ||= ' '
    if (words === '') return
    this.#text += this.#text === '' ? words : this.#gap + words
    this.#gap = collapsed.endsWith(' ') ? ' ' : ''
  }

  toString(): string {
    return this.#text
  }

  #separate(name: string): void {
    if (this.#hiddenDepth > 0) return
    if (blockElements.has(name)) this.#gap = '\n'
    else if (spacedElements.has(name)) this.#gap ||= ' '
  }
}
