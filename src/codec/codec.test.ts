/** The decoder and the encoder: the columns of a body, the bytes of a response, and the comparison of bodies. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { jsonDepthMax, textMeasureNames } from '../contract/index.js'
import { decodeCycle } from './decode-cycle.js'
import { encodeResponse } from './encode-response.js'
import { float32Text } from './float32-text.js'
import * as loaded from './loaded.js'
import { sliceRows } from './row-slices.js'
import { bodyDifferences } from './body-differences.js'
import { allocateTextColumns, measureText } from './text-measures.js'

const isSame = (a: Uint8Array, b: Uint8Array): boolean => bodyDifferences(a, b).length === 0

describe('decoding a cycle', () => {
  const body = cycleBody(0, {
    candidates: [
      candidate('가/"b"', 7, { body_html: '<p>본문 {[</p>', image_positions: [2, 1], category_id: -3 }),
      candidate('g', 2 ** 53 - 1, {
        created_at: null,
        gallery_type: 'mini',
        source: 'manual',
        manual_flag: 1,
      }),
    ],
    engagement: [reading('g', 1, 0, { views: null, observed_at: '2024-01-01T00:00:00.0005+09:00' })],
    candidate_scores: [snapshot('가/"b"', 7, 0, { upimg_height: 32767 })],
    removals: [removal('g', 5, { reason: 'saved', tier: 'app' })],
  })

  test('gives columns with NaN for null and codes for enums', () => {
    const cycle = decodeCycle(bytesOf({ zeta: 1, ...body }))
    expect(cycle.galleries).toEqual(['가/"b"', 'g'])
    expect([...cycle.candidates.gallery, ...cycle.engagement.gallery]).toEqual([0, 1, 1])
    expect([...cycle.candidates.postNo]).toEqual([7, 2 ** 53 - 1])
    expect([...cycle.candidates.categoryId]).toEqual([-3, NaN])
    expect([...cycle.candidates.imagesExpected]).toEqual([2, NaN])
    expect([...cycle.candidates.createdAtMs].map(Number.isNaN)).toEqual([false, true])
    expect(cycle.engagement.views[0]).toBeNaN()
    expect(cycle.engagement.observedAtFraction[0]).toBeCloseTo(0.5, 12)
    expect(cycle.candidateScores.upimg_height[0]).toBe(32767)
    expect(cycle.candidateScores.hit_cnt[0]).toBeNaN()
    expect(cycle.unknownFields).toEqual(['zeta'])
    expect(cycle.memberOrder[0]).toBe('cycle_id')
  })

  test('gives candidates as slices of the body; if there are two lists, those of the last', () => {
    const text = JSON.stringify(body)
    const twice = Buffer.from(`{"candidates":[{}],"c\\u0061ndidates":[{"x":[{}]}],${text.slice(1)}`)
    for (const bytes of [Buffer.from(text), twice]) {
      const { rowStart, rowEnd } = sliceRows(bytes, 'candidates')
      const rows = [...rowStart].map(
        (start, i) => JSON.parse(bytes.toString('utf8', start, rowEnd[i])) as unknown,
      )
      expect(rows).toEqual(body.candidates)
    }
  })

  test('accepts nesting at the limit and refuses deeper nesting', () => {
    const nested = (depth: number) =>
      Buffer.from(`{"zz":${'['.repeat(depth)}${']'.repeat(depth)},${JSON.stringify(body).slice(1)}`)
    expect(() => decodeCycle(nested(jsonDepthMax - 1))).not.toThrow()
    expect(() => decodeCycle(nested(jsonDepthMax))).toThrow('nests deeper')
    expect(() => decodeCycle(nested(100_000))).toThrow('nests deeper')
  })

  test('accepts a lone surrogate in a title and counts it', () => {
    const cycle = decodeCycle(Buffer.from(JSON.stringify(body).replace('제목 7', 'a\\ud800b')))
    expect(cycle.candidates.title.chars[0]).toBe('a?b ㅋㅋ'.length)
    for (const after of ['\\ue000', '\ue000', '\\udbff']) {
      const json = Buffer.from(JSON.stringify(body).replace('제목 7', `a\\ud800${after}b`))
      expect(loaded.decodeCycle(json).candidates.title.chars[0]).toBe('a??b ㅋㅋ'.length)
    }
  })

  test('names unknown members of the body first, then list by list, each once, whatever their order', () => {
    const [row] = body.engagement
    const [removed] = body.removals
    const { cycle_id, cycle_time, candidates, candidate_scores } = body
    const json = bytesOf({
      removals: [{ ...removed, zz: 1 }],
      engagement: [
        { ...row, zz: 1, b: [{ a: null }] },
        { ...row, a: 1, zz: 2 },
      ],
      last: {},
      cycle_id,
      cycle_time,
      candidates,
      candidate_scores,
      zz: true,
      ['x'.repeat(201)]: 1,
      [`y${'😀'.repeat(100)}`]: 1,
      '\ud800': 1,
    })
    const ofRows = ['engagement[].zz', 'engagement[].b', 'engagement[].a', 'removals[].zz']
    const ofBody = ['last', 'zz', `${'x'.repeat(200)}…`, `y${'😀'.repeat(99)}…`, '\ufffd']
    const names = [...ofBody, ...ofRows]
    expect(decodeCycle(json).unknownFields).toEqual(names)
    expect(loaded.decodeCycle(json)).toEqual(decodeCycle(json))
  })
})

describe('measures of a text', () => {
  const measure = (text: string, html: boolean) => {
    const columns = allocateTextColumns(1)
    measureText(text, html, columns, 0)
    return Object.fromEntries(textMeasureNames.map((name) => [name, columns[name][0]!]))
  }

  test('count what they are named for', () => {
    expect(measure('안녕 ㅋㅋㅎ abc 12! 漢?😀', false)).toMatchObject({
      chars: 18,
      hangul: 2,
      jamo: 3,
      laughs: 3,
      latin: 3,
      digits: 2,
      han: 1,
      spaces: 4,
      words: 5,
      punctuation: 2,
      questions: 1,
      exclamations: 1,
      emoji: 1,
      tags: 0,
    })
  })

  test.each([
    ['hangul', [0xac00, 0xd7a3], [0xabff, 0xd7a4]],
    ['jamo', [0x1100, 0x11ff, 0x3131, 0x318e], [0x10ff, 0x1200, 0x3130, 0x318f]],
    ['laughs', [0x314b, 0x314e], [0x314a, 0x314c, 0x314d, 0x314f]],
    ['han', [0x4e00, 0x9fff], [0x4dff, 0xa000]],
    ['emoji', [0x1f000, 0x10ffff], [0x1efff, 0xffff]],
    ['latin', [0x41, 0x5a, 0x61, 0x7a], [0x40, 0x5b, 0x60, 0x7b]],
    ['digits', [0x30, 0x39], [0x2f, 0x3a]],
    ['punctuation', [0x21, 0x7e], [0x20, 0x7f]],
    [
      'spaces',
      [0x09, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
      [0x08, 0x0e, 0x85, 0x180e, 0x1fff, 0x200b, 0x2027, 0x202a, 0x3001],
    ],
  ])('have exact ranges: %s', (name, inside, outside) => {
    const countOf = (point: number): unknown => measure(String.fromCodePoint(point), false)[name]
    expect([inside.map(countOf), outside.map(countOf)]).toEqual([inside.map(() => 1), outside.map(() => 0)])
  })

  test('exclude the markup of a body and count it separately', () => {
    expect(measure('<p>가 <img src="나"><a href=x>다</a></p>', true)).toMatchObject({
      chars: 3,
      hangul: 2,
      tags: 5,
      images: 1,
      links: 1,
      latin: 0,
    })
  })

  test('define white space as String.trim does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { chars, spaces } = measure(text, false)
        expect(chars === spaces).toBe(text.trim() === '')
        expect(chars).toBe([...text].length)
      }),
    )
  })

  test('have different fingerprints for different texts', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const [x, y] = [measure(a, true), measure(b, true)]
        const same = x.fingerprintLow === y.fingerprintLow && x.fingerprintHigh === y.fingerprintHigh
        expect(same).toBe(a === b)
      }),
    )
  })
})

test('float32 text is the shortest that parses to the same value', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = float32Text(value)
      expect(Math.fround(Number(text))).toBe(value === 0 ? 0 : value)
      const digits = text
        .replace(/e.*$/, '')
        .replace(/[-.]/g, '')
        .replace(/^0+/, '')
        .replace(/0+$/, '').length
      for (let fewer = 1; fewer < digits; fewer++) {
        expect(Math.fround(Number(value.toPrecision(fewer))), `${text} in ${fewer} digits`).not.toBe(value)
      }
    }),
    { numRuns: 2000 },
  )
  expect(float32Text(Math.fround(0.1))).toBe('0.1')
})

test('a response is the JSON of its parts, in the order of the contract', () => {
  const heads = {
    p_views: Float32Array.of(0.5, 1),
    p_comments: null,
    p_up: Float32Array.of(0.25, 0),
    downvote_share: null,
  }
  const bytes = encodeResponse({
    cycleId: '20240301T0000',
    cycleTime: '2024-03-01T00:00:00+09:00',
    receivedAt: 'r',
    scoredAt: 's',
    modelVersion: 'm',
    weightsVersion: 'w',
    counts: {
      candidates: 0,
      engagement: 0,
      candidate_scores: 0,
      removals: 0,
      scored_now: 2,
      waiting: 1,
      not_scored: 1,
      results: 4,
    },
    missingFeatureShare: 1 / 3,
    warnings: [
      { code: 'unknown_field', count: null, detail: 'x "y"' },
      { code: 'removal_not_pending', count: 7, detail: 'g/1, …' },
    ],
    results: {
      count: 4,
      galleries: ['"\\가\ud800', 'h'],
      gallery: Uint32Array.of(0, 1, 1, 1),
      postNo: Float64Array.of(2 ** 53 - 1, 2, 3, 4),
      outcome: Uint8Array.of(0, 1, 5, 0),
      score: Float32Array.of(0.3, 0.6),
      heads,
    },
  })
  const text = Buffer.from(bytes).toString()
  expect(JSON.parse(text)).toMatchObject({
    missing_feature_share: 1 / 3,
    warnings: ['unknown field: x "y"', 'removal of a post that is not pending (7): g/1, …'],
    results: [
      {
        gall_id: '"\\가\ud800',
        post_no: 2 ** 53 - 1,
        status: 'scored',
        score: 0.3,
        p_views: 0.5,
        p_up: 0.25,
        scored_at_cycle: '2024-03-01T00:00:00+09:00',
      },
      { gall_id: 'h', post_no: 2, status: 'waiting', score: null },
      { gall_id: 'h', post_no: 3, status: 'not_scored', score: null, reason: 'unknown_post' },
      { gall_id: 'h', post_no: 4, status: 'scored', score: 0.6, p_views: 1, p_up: 0 },
    ],
  })
  expect(text.startsWith('{"cycle_id":"20240301T0000","cycle_time":')).toBe(true)
})

describe('two bodies are the same', () => {
  test('whatever the order of members, the white space and the spelling of strings and numbers', () => {
    const respelled = (value: unknown): string => {
      if (Array.isArray(value)) return `[ ${value.map(respelled).join(' , ')} ]`
      if (typeof value === 'number')
        return Number.isSafeInteger(value) && !Object.is(value, -0) ? `${value}.0E0` : String(value)
      if (typeof value === 'string') {
        return `"${[...Array(value.length).keys()].map((i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
      }
      if (typeof value !== 'object' || value === null) return String(value)
      return `{${Object.entries(value)
        .reverse()
        .map(([name, member]) => `${respelled(name)}:${respelled(member)}`)
        .join(',\n')}}`
    }
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        expect(isSame(bytesOf(value), Buffer.from(respelled(JSON.parse(JSON.stringify(value)))))).toBe(true)
      }),
    )
  })

  test('but not with another value anywhere', () => {
    for (const [a, b] of [
      ['[1,2]', '[2,1]'],
      ['{"a":1}', '{"a":1,"b":null}'],
      ['{"a":null}', '{"b":null}'],
      ['[9007199254740991]', '[9007199254740990]'],
      ['[1e308]', '[1e400]'],
      ['[0.0000000000001]', '[0.00000000000010000000000001]'],
      ['[4e-324]', '[1e-323]'],
      ['{"__proto__":1}', '{"__proto__":2}'],
      ['[]', '{}'],
      ['["1"]', '[1]'],
    ] as const) {
      expect(isSame(Buffer.from(a), Buffer.from(b)), `${a} ${b}`).toBe(false)
    }
  })

  test('if their numbers are the same doubles', () => {
    for (const [a, b] of [
      ['[100000000000000000000]', '[1e20]'],
      ['[9007199254740993]', '[9007199254740992]'],
      ['[1.00000000000000001]', '[1]'],
      ['[-0]', '[0.000000000000000000]'],
    ] as const) {
      expect(isSame(Buffer.from(a), Buffer.from(b)), `${a} ${b}`).toBe(true)
    }
  })

  test('with numbers of millions of digits, in linear time', () => {
    const zeros = '0'.repeat(2_000_000)
    expect(isSame(Buffer.from(`[0.${zeros}1]`), Buffer.from(`[ 0.${zeros}10]`))).toBe(true)
    expect(isSame(Buffer.from(`[1.${zeros}1]`), Buffer.from(`[ 2.${zeros}1]`))).toBe(false)
  })
})
