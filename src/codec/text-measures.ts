/**
 * Measures a title or a body: how many code points of which kind (see `textMeasureNames`). One pass; the fingerprint
 * covers every code point, the counts leave markup out where the text is HTML.
 */
import { textMeasureNames, type TextColumns, type TextMeasureName } from '../contract/index.js'

export type TextMeasures = Record<TextMeasureName, number>

export function allocateTextColumns(count: number): TextColumns {
  return Object.fromEntries(
    textMeasureNames.map((name) => [name, new Uint32Array(count)]),
  ) as unknown as TextColumns
}

/** Writes the measures of `text` into row `row` of `columns`. `html`: what stands between `<` and `>` is markup. */
export function measureText(text: string, html: boolean, columns: TextColumns, row: number): void {
  const m = emptyMeasures()
  let inWord = false
  let markupStart = -1
  for (let at = 0; at < text.length; at++) {
    let point = text.charCodeAt(at)
    if (point >= 0xd800 && point < 0xdc00) {
      point = text.codePointAt(at) as number
      if (point > 0xffff) at++
    }
    m.fingerprintLow = Math.imul(m.fingerprintLow ^ point, 0x01000193) >>> 0
    m.fingerprintHigh = (Math.imul(m.fingerprintHigh, 0x85ebca6b) + point + 1) >>> 0
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
  for (const name of textMeasureNames) columns[name][row] = m[name]
}

function emptyMeasures(): TextMeasures {
  const measures = Object.fromEntries(textMeasureNames.map((name) => [name, 0])) as TextMeasures
  measures.fingerprintLow = 0x811c9dc5
  return measures
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

/** White space as `String.prototype.trim` knows it. */
export function isSpace(point: number): boolean {
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
