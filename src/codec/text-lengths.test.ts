/**
 * Long texts: native code counts up to 255 vectors of 32 bytes before it adds up its lanes, so a text of one kind of
 * character around 8,160 bytes, or of 100,000, has more of them than a lane can count.
 */
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { addonOrNull } from '../../test/helpers/codecs.js'
import { textMeasureNames } from '../contract/index.js'
import { decodeCycle } from './decode-cycle.js'
import { createNativeDecode } from './native-decode.js'

const vectorBytes = 32
const flushBytes = 255 * vectorBytes

/** At least one of each kind that is measured; HTML also has markup. */
const kinds: readonly (readonly [kind: string, unit: string])[] = [
  ['Latin letters', 'a'],
  ['digits', '7'],
  ['spaces', ' '],
  ['line feeds, which JSON escapes', '\n'],
  ['words', 'a '],
  ['punctuation', '.'],
  ['question marks', '?'],
  ['exclamation marks', '!'],
  ['Hangul syllables', '한'],
  ['last Hangul syllables', '힣'],
  ['laughs', 'ㅋ'],
  ['compatibility jamo', 'ㄱ'],
  ['conjoining jamo', '\u1100'],
  ['Han characters', '漢'],
  ['emoji', '😀'],
  ['wide spaces', '\u3000'],
  ['no-break spaces', '\u00a0'],
  ['letters of two bytes', 'é'],
  ['markup', '<b>'],
  ['markup around a letter', 'a<i>'],
  ['images', '<img>'],
  ['links', '<a>x'],
  // The low bits of this code point are those of U+1680, which is white space.
  ['names that begin with a', '<a\u{5a000}>'],
]

/** Bytes around a whole number of flushes, and long texts. */
const lengths = [
  ...[1, 2, 3].flatMap((count) =>
    [-vectorBytes - 1, -vectorBytes, -1, 0, 1, vectorBytes, vectorBytes + 1].map(
      (more) => count * flushBytes + more,
    ),
  ),
  100_000,
]

/** `unit` again and again, in as many bytes of UTF-8 as whole units fill, and the rest as letters. */
function textOf(unit: string, bytes: number): string {
  const unitBytes = Buffer.byteLength(unit)
  return unit.repeat(Math.floor(bytes / unitBytes)) + 'z'.repeat(bytes % unitBytes)
}

describe.skipIf(addonOrNull === null)('native text measures (skipped when the addon is not built)', () => {
  test.each(kinds)('a long text of %s has the measures of the reference at every length', (_, unit) => {
    const decode = createNativeDecode(addonOrNull!)
    const texts = lengths.map((bytes) => textOf(unit, bytes))
    const candidates = texts.map((text, i) => candidate('g', i + 1, { title: text, body_html: text }))
    const body = bytesOf(cycleBody(0, { candidates }))
    const native = decode(body)
    const reference = decodeCycle(body)
    if (native === null) throw new Error('left to the reference')
    for (const list of ['title', 'body'] as const)
      for (const name of textMeasureNames) {
        const of = ({ candidates: columns }: typeof reference): (readonly [number, number])[] =>
          lengths.map((bytes, row) => [bytes, columns[list][name][row]!])
        expect(of(native), `${list}.${name}`).toEqual(of(reference))
      }
  })

  test('the texts have every measure, so that none is compared with zero alone', () => {
    const candidates = kinds.map(([, unit], i) =>
      candidate('g', i + 1, { title: 't', body_html: textOf(unit, 3 * flushBytes) }),
    )
    const { body } = decodeCycle(bytesOf(cycleBody(0, { candidates }))).candidates
    for (const name of textMeasureNames) expect(Math.max(...body[name]), name).toBeGreaterThan(flushBytes / 5)
  })
})
