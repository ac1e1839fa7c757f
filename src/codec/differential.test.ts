/**
 * The native codec against the reference: the same columns and bytes, or no result. `DIFFERENTIAL_CASES` makes
 * the run longer, `DIFFERENTIAL_SEED` starts it elsewhere; a failure names the seed of its case.
 */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { candidate, cycleBody, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { addonOrNull } from '../../test/helpers/codecs.js'
import { mutatedBody, validBody } from '../../test/fuzz/cycle-bodies.js'
import { Random } from '../../test/harness/rng.js'
import { randomResponse } from '../../test/fuzz/responses.js'
import { headNames, outcome, ServiceError, textMeasureNames } from '../contract/index.js'
import { bodyBufferBytes } from './body-buffer.js'
import { nativeCodec } from './codec.js'
import { decodeCycle } from './decode-cycle.js'
import { encodeResponse } from './encode-response.js'
import { float32Text } from './float32-text.js'
import { createNativeDecode } from './native-decode.js'
import { createNativeEncode } from './native-encode.js'

const caseCount = Number(process.env['DIFFERENTIAL_CASES'] ?? 4000)
const firstSeed = Number(process.env['DIFFERENTIAL_SEED'] ?? 1)
const timeoutMs = 3_600_000

const addon = addonOrNull!

function referenceOutcome(body: Uint8Array): object | ServiceError {
  return outcomeOf(() => decodeCycle(body))
}

function outcomeOf(decode: () => object): object | ServiceError {
  try {
    return decode()
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

/** The body at the start of a longer buffer, followed by bytes that would extend any token. */
function padded(body: Uint8Array, filler: number): Uint8Array {
  const buffer = new Uint8Array(bodyBufferBytes(body.length)).fill(filler)
  buffer.set(body)
  return buffer.subarray(0, body.length)
}

/** A valid body with `count` candidates whose texts are a few kilobytes long, some of them with escapes. */
function bodyOfTexts(random: Random, count: number): Buffer {
  const cycle = JSON.parse(validBody(random).toString()) as object
  const pieces = ['실시간 베스트 ㅋㅋ ', '<p>', '</p>', '<img src="a.jpg">', 'abc 12, ', '\n', '"', '\u3000', '漢字', '😀', '<'] // prettier-ignore
  const text = (length: number): string =>
    Array.from({ length: random.below(length) }, () => random.pick(pieces)).join('')
  const candidates = Array.from({ length: count }, (_, index) => ({
    gall_id: random.pick(['a', 'b', '한글']),
    post_no: index + 1,
    title: text(10),
    created_at: null,
    extracted_at: '2026-01-05T00:00:00Z',
    source: 'vote',
    manual_flag: 0,
    images_in_post: 0,
    ...(random.chance(0.9) ? { body_html: `x${text(400)}` } : {}),
  }))
  return Buffer.from(JSON.stringify({ ...cycle, candidates }))
}

function randomJson(random: Random, depth = 0): unknown {
  const scalars = [null, true, 0, -1.5e300, 9007199254740992, 'a"\\\n한\ud800', '', '{', ']']
  if (depth > 3 || random.chance(0.6)) return random.pick(scalars)
  const values = Array.from({ length: random.below(4) }, () => randomJson(random, depth + 1))
  return random.chance(0.5) ? values : Object.fromEntries(values.map((value, index) => [`k${index}`, value]))
}

describe.skipIf(addonOrNull === null)('native decoder (skipped when the addon is not built)', () => {
  test(
    'every valid cycle is decoded natively, with the columns of the reference',
    { timeout: timeoutMs },
    () => {
      const decode = createNativeDecode(addon)
      for (let seed = firstSeed; seed < firstSeed + caseCount / 4; seed++) {
        const body = validBody(new Random(seed))
        const columns = decode(body)
        // These bodies have no lone surrogates, the only texts that are left to the reference.
        if (columns === null) throw new Error(`seed ${seed}: left to the reference`)
        if (!isDeepStrictEqual(columns, decodeCycle(body))) throw new Error(`seed ${seed}: other columns`)
      }
    },
  )

  test(
    'a mutated cycle is decoded like the reference does it, or left to the reference',
    { timeout: timeoutMs },
    () => {
      const decode = createNativeDecode(addon)
      const counts = { acceptedByBoth: 0, acceptedByReference: 0, refusedByBoth: 0 }
      for (let seed = firstSeed; seed < firstSeed + caseCount; seed++) {
        const random = new Random(seed)
        const body = mutatedBody(random)
        const columns = decode(
          random.chance(0.5) ? padded(body, random.pick([0x30, 0x22, 0x7d, 0xff, 0x20])) : body,
        )
        const expected = referenceOutcome(body)
        if (columns === null) {
          counts[expected instanceof ServiceError ? 'refusedByBoth' : 'acceptedByReference']++
          continue
        }
        if (!isDeepStrictEqual(columns, expected)) {
          throw new Error(`seed ${seed}: native code accepts ${body.toString().slice(0, 4000)}`, {
            cause: expected,
          })
        }
        counts.acceptedByBoth++
      }
      console.log(`${caseCount} mutated cycles from seed ${firstSeed}: ${JSON.stringify(counts)}`)
      // Leaving everything to the reference would pass all of the above.
      expect(counts.acceptedByBoth).toBeGreaterThan(caseCount / 6)
      expect(counts.refusedByBoth).toBeGreaterThan(caseCount / 5)
      expect(counts.acceptedByReference).toBeLessThan(counts.acceptedByBoth / 2)
    },
  )

  test('a body that the native decoder leaves to the reference has the result of the reference', () => {
    const codec = nativeCodec(addon)
    const outcome = (decode: () => object): unknown => {
      try {
        return decode()
      } catch (error) {
        return (error as ServiceError).toRecord()
      }
    }
    for (const body of ['', '{', '[]', '{"cycle_id":1}', '\ufeff{}', '{}{}']) {
      const bytes = Buffer.from(body)
      expect(outcome(() => codec.decodeCycle(bytes))).toEqual(outcome(() => decodeCycle(bytes)))
    }
  })

  test('values at the limits of their rules are decoded like the reference does it, or left to the reference', () => {
    const decode = createNativeDecode(addon)
    const text = JSON.stringify(cycleBody(0, { candidates: [candidate('g', 1)] }))
    const withMember = (member: string, json: string): Buffer =>
      Buffer.from(text.replace(new RegExp(`"${member}":("[^"]*"|\\d+)`), `"${member}":${json}`))
    const times = [
      '2000-02-29T00:00:00Z',
      '1900-02-28T00:00:00Z',
      '2016-12-31T23:59:60Z',
      '2016-12-31T18:59:60-05:00',
    ]
    const noTimes = ['1900-02-29T00:00:00Z', '2016-12-31T23:30:60Z', '2016-12-31T22:59:60Z']
    const cases: [member: string, json: string, isNative: boolean][] = [
      ...times.map((time): [string, string, boolean] => ['created_at', `"${time}"`, true]),
      ...noTimes.map((time): [string, string, boolean] => ['created_at', `"${time}"`, false]),
      ['gall_id', '""', false],
      ['post_no', '9007199254740991', true],
      ['post_no', '9007199254740992', false],
      ['post_no', '01', false],
      ['title', '"\\ud83d\\ude00"', true],
      ['title', '"\\ude00"', false],
      ['title', '"\\ud83d"', false],
      ['title', '"a","x":1', true],
      ['title', '"a","x":{"y":[1,{}]}', true],
      ['title', '"a","":0,"__proto__":{},"7":1', true],
      ['title', '"a","x":[1,2', false],
      ['title', '"a","x":[1}', false],
      ['title', '"a","x":{"y"}', false],
      ['title', '"a","x":{1:2}', false],
      ['title', '"a","x":tru', false],
      ['title', '"a","x":01', false],
      ['title', '"a","x":"\\q"', false],
      ['title', '"a","x":', false],
      ['title', '"a","x"', false],
      ['title', '"a",', false],
      ['title', '"a","x":1 2', false],
      ['title', '"a","x"::1', false],
      ['title', '"a","x":}', false],
      // It may be the name of a known member.
      ['title', '"a","\\u0078":1', false],
      ['title', `"a","x":${'['.repeat(16)}${']'.repeat(16)}`, true],
      ['title', `"a","x":${'['.repeat(17)}${']'.repeat(17)}`, false],
    ]
    for (const [member, json, isNative] of cases) {
      const body = withMember(member, json)
      expect(body.toString()).not.toBe(text)
      const columns = decode(body)
      expect(columns !== null, `${member}: ${json}`).toBe(isNative)
      if (columns !== null) expect(columns).toEqual(decodeCycle(body))
    }
  })

  test('unknown members in any place of a valid cycle are decoded natively, with the columns of the reference', () => {
    const decode = createNativeDecode(addon)
    for (let seed = firstSeed; seed < firstSeed + caseCount / 8; seed++) {
      const random = new Random(seed)
      const cycle = JSON.parse(validBody(random).toString()) as Record<string, unknown>
      const names = ['mood', 'm', '한글', '10', '9', '__proto__', 'gall_idx', 'post', '']
      const withUnknown = (row: object): object => {
        const members = Object.entries(row)
        for (let count = random.below(4); count > 0; count--)
          members.splice(random.below(members.length + 1), 0, [random.pick(names), randomJson(random)])
        // A name that comes twice is one member: the last value wins.
        return Object.fromEntries(members)
      }
      for (const list of ['candidates', 'engagement', 'candidate_scores', 'removals'])
        cycle[list] = (cycle[list] as object[]).map((row) => (random.chance(0.5) ? withUnknown(row) : row))
      const body = Buffer.from(JSON.stringify(withUnknown(cycle), null, random.below(2)))
      const columns = decode(body)
      if (columns === null)
        throw new Error(`seed ${seed}: left to the reference: ${body.toString().slice(0, 2000)}`)
      if (!isDeepStrictEqual(columns, decodeCycle(body))) throw new Error(`seed ${seed}: other columns`)
    }
  })

  test('a body whose unknown members are large or many is left to the reference, and has its result', () => {
    const decode = createNativeDecode(addon)
    const bodyOf = (extra: object): Buffer => Buffer.from(JSON.stringify({ ...cycleBody(0), ...extra }))
    const cases: [extra: object, isNative: boolean][] = [
      // `"x":""` are six more bytes.
      [{ x: 'a'.repeat(262_137) }, true],
      [{ x: 'a'.repeat(262_138) }, true],
      [{ x: 'a'.repeat(262_139) }, false],
      [{ x: Array.from({ length: 19_999 }, () => []) }, true],
      [{ x: Array.from({ length: 20_000 }, () => []) }, false],
      [Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`${index}x`, 1])), false],
    ]
    for (const [extra, isNative] of cases) {
      const columns = decode(bodyOf(extra))
      expect(columns !== null).toBe(isNative)
      expect(nativeCodec(addon).decodeCycle(bodyOf(extra))).toEqual(decodeCycle(bodyOf(extra)))
      // What one body has does not count for the next.
      expect(decode(bodyOf({ x: [1] }))).not.toBeNull()
    }
  })

  test('names at the limit of their length have the result of the reference, and short ones are decoded natively', () => {
    const decode = createNativeDecode(addon)
    const codec = nativeCodec(addon)
    const bodyOf = (list: string, change: object): Buffer => {
      const full = cycleBody(0, {
        candidates: [candidate('g', 1)],
        engagement: [reading('g', 1, 0)],
        candidate_scores: [snapshot('g', 1, 0)],
        removals: [removal('g', 2)],
      }) as unknown as Record<string, object[]>
      return Buffer.from(JSON.stringify({ ...full, [list]: [{ ...full[list]?.[0], ...change }] }))
    }
    const places = [
      ...['candidates', 'engagement', 'candidate_scores', 'removals'].map(
        (list) => [list, 'gall_id'] as const,
      ),
      ['removals', 'reason_code'] as const,
    ]
    for (const [list, member] of places) {
      for (const character of ['a', '가', '😀']) {
        for (const count of [1, 341, 1023, 1024, 1025, 2049]) {
          const name = character.repeat(count)
          const body = bodyOf(list, { [member]: name })
          const what = `${list}.${member}, ${count} × ${character}`
          expect(decode(body) !== null, what).toBe(Buffer.byteLength(name) <= 1024)
          const expected = referenceOutcome(body)
          expect(expected instanceof ServiceError, what).toBe(count > 1024)
          if (expected instanceof ServiceError) expect(() => codec.decodeCycle(body), what).toThrow(expected)
          else expect(codec.decodeCycle(body), what).toEqual(expected)
        }
      }
      const half = Buffer.from(
        bodyOf(list, { [member]: 'HALF' })
          .toString()
          .replace('HALF', '\\ud83d'),
      )
      for (const decodeBody of [() => decodeCycle(half), () => codec.decodeCycle(half)])
        expect(outcomeOf(decodeBody) instanceof ServiceError, `${list}.${member}`).toBe(member === 'gall_id')
    }
  })

  test('columns keep their values when other bodies are decoded', () => {
    const decode = createNativeDecode(addon)
    const cases = Array.from({ length: 20 }, (_, index) => {
      const body = validBody(new Random(firstSeed + index))
      return { columns: decode(body)!, expected: decodeCycle(body) }
    })
    for (const { columns, expected } of cases) expect(columns).toEqual(expected)
  })

  test('cycles have any number of candidates, however short they are', () => {
    const decode = createNativeDecode(addon)
    const one = JSON.parse(validBody(new Random(5)).toString()) as { candidates: object[] }
    const row = { title: '', created_at: null, extracted_at: null, source: 'vote', manual_flag: 0, images_in_post: 0 } // prettier-ignore
    for (const count of [1025, 70_000, 3]) {
      const candidates = Array.from({ length: count }, (_, index) => ({
        ...row,
        gall_id: `g${index}`,
        post_no: index + 1,
      }))
      const body = Buffer.from(JSON.stringify({ ...one, candidates }))
      const columns = decode(body)!
      expect(isDeepStrictEqual(columns, decodeCycle(body))).toBe(true)
    }
  })

  test('a list with many long texts has the columns of the reference', () => {
    const decode = createNativeDecode(addon)
    for (let round = 0; round < 20; round++) {
      const body = bodyOfTexts(new Random(firstSeed + round), 300)
      const columns = decode(body)!
      if (!isDeepStrictEqual(columns, decodeCycle(body))) throw new Error(`round ${round}: other columns`)
    }
  })

  test('a cycle with one text that native code does not unescape is left to the reference', () => {
    const decode = createNativeDecode(addon)
    const text = bodyOfTexts(new Random(firstSeed), 300).toString()
    for (const escape of ['\\ud800', '\\u12x4', '\\x']) {
      for (const share of [0.01, 0.5, 0.99]) {
        const at = text.indexOf('"body_html":"', text.length * share) + '"body_html":"'.length
        expect(decode(Buffer.from(text.slice(0, at) + escape + text.slice(at)))).toBeNull()
      }
      const columns = decode(Buffer.from(text))!
      expect(isDeepStrictEqual(columns, decodeCycle(Buffer.from(text)))).toBe(true)
    }
  })

  test('galleries of any number, length and similarity have the codes of the reference', () => {
    const decode = createNativeDecode(addon)
    const random = new Random(firstSeed)
    const cycle = JSON.parse(validBody(random).toString()) as object
    const ids = Array.from({ length: 200 }, (_, index) => [
      `g${index}`,
      `${'a'.repeat(index % 40)}${index}${'z'.repeat(index % 7)}`,
      `same-start-${index % 9}-same-end`,
    ]).flat()
    const removals = Array.from({ length: 3000 }, (_, index) => ({
      gall_id: random.pick(ids),
      post_no: index + 1,
      reason: 'hidden',
      decided_at: '2026-01-05T00:00:00Z',
    }))
    for (const space of [0, 1]) {
      const body = Buffer.from(JSON.stringify({ ...cycle, removals }, null, space))
      expect(isDeepStrictEqual(decode(body), decodeCycle(body))).toBe(true)
    }
  })

  test('a list beyond its limit is left to the reference', () => {
    const decode = createNativeDecode(addon)
    const cycle = JSON.parse(validBody(new Random(5)).toString()) as object
    const row = { gall_id: 'a', post_no: 1, reason: 'hidden', decided_at: '2026-01-05T00:00:00Z' }
    const bodyOf = (count: number): Buffer =>
      Buffer.from(JSON.stringify({ ...cycle, removals: Array(count).fill(row) }))
    expect(decode(bodyOf(5000))).not.toBeNull()
    expect(decode(bodyOf(5001))).toBeNull()
  })

  test('a body without padding after it is decoded from a copy', () => {
    const body = Uint8Array.from(validBody(new Random(firstSeed)))
    expect(body.buffer.byteLength).toBe(body.length)
    expect(createNativeDecode(addon)(body)).toEqual(decodeCycle(body))
  })

  test('the addon names the text measures of the contract, in its order', () => {
    expect(addon.textMeasureNames).toEqual([...textMeasureNames])
    expect(bodyBufferBytes(0)).toBe(addon.bodyPaddingBytes)
  })
})

/** A quote inside a string has a backslash, so no string has this. */
const scoreText = new RegExp(`("(?:score|${headNames.join('|')})":)(-?[0-9][-+.e0-9]*)`, 'g')

describe.skipIf(addonOrNull === null)('native encoder (skipped when the addon is not built)', () => {
  test(
    'every response has the bytes of the reference, and float32 values spelled either way',
    { timeout: timeoutMs },
    () => {
      const encode = createNativeEncode(addon)
      for (let seed = firstSeed; seed < firstSeed + caseCount / 4; seed++) {
        const response = randomResponse(new Random(seed))
        const bytes = encode(response)
        const respelled = Buffer.from(bytes)
          .toString()
          .replace(
            scoreText,
            (_, name: string, text: string) => name + float32Text(Math.fround(Number(text))),
          )
        if (respelled !== Buffer.from(encodeResponse(response)).toString())
          throw new Error(`seed ${seed}: other bytes`)
      }
    },
  )

  test('numbers that JSON does not have are refused', () => {
    const encode = createNativeEncode(addon)
    const response = randomResponse(new Random(1))
    const encodeOne = (postNo: number, score: number): Uint8Array =>
      encode({
        ...response,
        counts: { ...response.counts, scored_now: 1, results: 1 },
        results: {
          count: 1,
          galleries: ['a'],
          gallery: Uint32Array.of(0),
          postNo: Float64Array.of(postNo),
          outcome: Uint8Array.of(outcome.scored),
          score: Float32Array.of(score),
          heads: { p_views: null, p_comments: null, p_up: null, downvote_share: null },
        },
      })
    expect(() => encodeOne(1, 0.5)).not.toThrow()
    for (const [postNo, score] of [
      [1, NaN],
      [1, Infinity],
      [1.5, 0.5],
      [-1, 0.5],
    ] as const)
      // prettier-ignore
      expect(() => encodeOne(postNo, score)).toThrow('numbers that JSON does not have')
  })
})
