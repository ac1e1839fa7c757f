/**
 * Measures a title or a body: how many code points of which kind (see `textMeasureNames`). The counts exclude markup
 * if the text is HTML; the fingerprint covers every byte of the text in UTF-8, markup included.
 */
import { textMeasureNames, type TextColumns, type TextMeasureName } from '../contract/index.js'

export type TextMeasures = Record<TextMeasureName, number>

export function allocateTextColumns(count: number): TextColumns {
  return Object.fromEntries(
    textMeasureNames.map((name) => [name, new Uint32Array(count)]),
  ) as unknown as TextColumns
}

/** Writes the measures of `text` into row `row` of `columns`. `html`: text between `<` and `>` is markup. */
export function measureText(text: string, html: boolean, columns: TextColumns, row: number): void {
  const m = emptyMeasures()
  let inWord = false
  let markupStart = -1
  for (let at = 0; at < text.length; at++) {
    let point = text.charCodeAt(at)
    if (point >= 0xd800 && point < 0xdc00) {
      point = text.codePointAt(at)!
      if (point > 0xffff) at++
    }
    if (markupStart >= 0) {
      if (point === 0x3e) {
        countMarkup(m, text, markupStart)
        markupStart = -1
      }
    } else if (html && point === 0x3c) {
      markupStart = at
      inWord = false
    } else {
      m.chars++
      const space = isSpace(point)
      if (space) m.spaces++
      else if (!inWord) m.words++
      inWord = !space
      countPoint(m, point)
    }
  }
  const { low, high } = textFingerprint(text)
  m.fingerprintLow = low
  m.fingerprintHigh = high
  for (const name of textMeasureNames) columns[name][row] = m[name]
}

function emptyMeasures(): TextMeasures {
  return Object.fromEntries(textMeasureNames.map((name) => [name, 0])) as TextMeasures
}

const laneSeeds = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344] as const
const blockBytes = 16

/**
 * Four lanes of 32 bits, each over every fourth little-endian word of the UTF-8 bytes (the last block of 16 filled up
 * with zeros), folded into two halves in opposite orders. Over bytes and in lanes, because native code reads words
 * faster than code points. Half of a surrogate pair counts as U+FFFD.
 */
function textFingerprint(text: string): { readonly low: number; readonly high: number } {
  const bytes = Buffer.byteLength(text)
  const padded = Buffer.alloc(Math.ceil(bytes / blockBytes) * blockBytes)
  padded.write(text)
  const lanes = Int32Array.from(laneSeeds)
  for (let at = 0; at < padded.length; at += 4) {
    const lane = (at >> 2) & 3
    lanes[lane] = rotate(Math.imul(lanes[lane]! ^ padded.readInt32LE(at), 0x9e3779b1), 13)
  }
  let low = bytes
  let high = bytes
  for (let lane = 0; lane < 4; lane++) {
    low = rotate(Math.imul(low ^ lanes[lane]!, 0x85ebca6b), 15)
    high = rotate(Math.imul(high ^ lanes[3 - lane]!, 0xc2b2ae35), 17)
  }
  return { low: low >>> 0, high: high >>> 0 }
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

function countPoint(m: TextMeasures, point: number): void {
  if (point < 0x80) {
    if (point >= 0x30 && point <= 0x39) m.digits++
    else if ((point | 0x20) >= 0x61 && (point | 0x20) <= 0x7a) m.latin++
    else if (point > 0x20 && point < 0x7f) {
      m.punctuation++
      if (point === 0x3f) m.questions++
      else if (point === 0x21) m.exclamations++
    }
  } else if (point >= 0xac00 && point <= 0xd7a3) m.hangul++
  else if ((point >= 0x3131 && point <= 0x318e) || (point >= 0x1100 && point <= 0x11ff)) {
    m.jamo++
    if (point === 0x314b || point === 0x314e) m.laughs++
  } else if (point >= 0x4e00 && point <= 0x9fff) m.han++
  else if (point >= 0x1f000) m.emoji++
}

/** `from` is the `<` of a piece of markup. */
function countMarkup(m: TextMeasures, text: string, from: number): void {
  m.tags++
  const first = text.charCodeAt(from + 1) | 0x20
  const second = text.charCodeAt(from + 2)
  if (first === 0x69 && (second | 0x20) === 0x6d && (text.charCodeAt(from + 3) | 0x20) === 0x67) m.images++
  else if (first === 0x61 && (second === 0x3e || isSpace(second))) m.links++
}

/** White space as defined by `String.prototype.trim`. */
function isSpace(point: number): boolean {
  return (
    point === 0x20 ||
    (point >= 0x09 && point <= 0x0d) ||
    (point >= 0xa0 &&
      (point === 0xa0 ||
        point === 0x1680 ||
        (point >= 0x2000 && point <= 0x200a) ||
        point === 0x2028 ||
        point === 0x2029 ||
        point === 0x202f ||
        point === 0x205f ||
        point === 0x3000 ||
        point === 0xfeff))
  )
}
