/** Where a body stops being JSON. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonContainerCountMax, jsonDepthMax, ServiceError } from '../contract/index.js'
import { parseJson, syntaxErrorOffset } from './json-text.js'

const refusal = (body: Buffer | string): string => {
  try {
    parseJson(Buffer.from(body))
  } catch (error) {
    if (error instanceof ServiceError) return error.message
    throw error
  }
  return 'accepted'
}

describe('a body that does not parse', () => {
  test('is refused with the offset of the byte that is wrong', () => {
    for (const [body, offset] of [
      ['{"a": nope}', 7],
      ['{"a":1,}', 7],
      ['[1 2]', 3],
      ['[01]', 2],
      ['[1.]', 2],
      ['[-]', 2],
      ['["가\n"]', 5],
      ['["\x1f"]', 2],
      ['["\\x41"]', 3],
      ['["\\u12G4"]', 6],
      ['{a:1}', 1],
      ['{"a" 1}', 5],
      ['[1]x', 3],
      ['{"a":1]', 6],
      ['\u00a01', 0],
    ] as const) {
      expect(refusal(body), body).toContain(`byte ${offset}`)
    }
  })

  test('is reported as ending too early if it is only incomplete', () => {
    for (const body of ['', '  ', '{', '[1', '"abc', '{"a":', '{"a', 'tru']) {
      expect(refusal(body), body).toContain(`ends too early, at byte ${body.length}`)
    }
  })

  test('names the byte of invalid UTF-8', () => {
    expect(refusal(Buffer.from([0x22, 0xea, 0xb0, 0x80, 0xff, 0x22]))).toContain('UTF-8 at byte 4')
  })
})

test('the walk over bytes finds an error exactly where JSON.parse refuses', () => {
  const mutated = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', ']', '0', '\\', '-', '\u0001', 'e', 'null'),
    )
    .map(
      ([text, at, insert]) =>
        text.slice(0, at % (text.length + 1)) + insert + text.slice((at % (text.length + 1)) + 1),
    )
  fc.assert(
    fc.property(mutated, (text) => {
      const bytes = Buffer.from(text)
      let valid = true
      try {
        JSON.parse(bytes.toString())
      } catch {
        valid = false
      }
      const offset = syntaxErrorOffset(bytes)
      // A valid text is walked to its end; an invalid one stops before it, or lacks something at it.
      if (valid) expect(offset).toBe(bytes.length)
      else expect(offset).toBeLessThanOrEqual(bytes.length)
      if (!valid && offset < bytes.length) {
        const head = bytes.subarray(0, offset).toString()
        expect(syntaxErrorOffset(Buffer.from(head))).toBe(Buffer.byteLength(head))
      }
    }),
    { numRuns: 2000 },
  )
})

describe('a body that would cost too much to parse', () => {
  const brackets = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const full = Array.from({ length: jsonContainerCountMax - 1 }, (_, n) => (n % 2 ? '{}' : '[]')).join(',')

  test('is refused at the first bracket beyond the depth limit, even when it is not JSON', () => {
    expect(refusal(brackets(jsonDepthMax))).toBe('accepted')
    for (const body of [brackets(jsonDepthMax + 1), '['.repeat(1_000_000)]) {
      expect(refusal(body)).toBe(`the body nests deeper than ${jsonDepthMax} levels at byte ${jsonDepthMax}`)
    }
    expect(refusal('{"a":'.repeat(100_000))).toContain(`at byte ${jsonDepthMax * 5}`)
  })

  test('is refused at the first array or object beyond the limit', () => {
    expect(refusal(`[${full}]`)).toBe('accepted')
    expect(refusal(`[${full},[]]`)).toBe(
      `the body has more than ${jsonContainerCountMax} arrays and objects at byte ${full.length + 2}`,
    )
  })

  test('does not include one whose strings are full of brackets, quotes and backslashes', () => {
    const text = fc.array(fc.constantFrom('[[[[[[[[', '{', '"', '\\', ']', 'x'.repeat(30), '가'), {
      maxLength: 300,
    })
    fc.assert(
      fc.property(fc.array(text.map((parts) => parts.join(''))), fc.boolean(), (texts, spaced) => {
        const body = JSON.stringify({ texts }, null, spaced ? 1 : 0)
        expect(parseJson(Buffer.from(body))).toEqual({ texts })
        // The scan is where it should be after them, too.
        const deep = `[${JSON.stringify(texts)},${brackets(jsonDepthMax)}]`
        const offset = Buffer.byteLength(JSON.stringify(texts)) + 2 + jsonDepthMax - 1
        expect(refusal(deep)).toContain(`levels at byte ${offset}`)
      }),
    )
  })
})
