import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiKeys } from './api-keys.js'

const keys = ['first-key', 'second-key']
/** The limit of the settings. */
const longest = 'k'.repeat(256)

describe('keys', () => {
  test('are the whole value, one of several, and nothing else', () => {
    const known = new ApiKeys(keys)
    for (const key of keys) expect(known.accepts(key)).toBe(true)
    for (const other of ['First-key', 'Bearer first-key', 'first-key,second-key', 'first-second'])
      expect(known.accepts(other), other).toBe(false)
  })

  test('are refused without their end, without their start, and with anything before or after them', () => {
    const known = new ApiKeys(keys)
    for (const key of keys) {
      for (let count = 0; count < key.length; count++) {
        expect(known.accepts(key.slice(0, count))).toBe(false)
        expect(known.accepts(key.slice(count + 1))).toBe(false)
      }
      for (const more of [' ', '\0', '\0\0\0\0', '\xff', 'y', '\0'.repeat(64)]) {
        expect(known.accepts(key + more)).toBe(false)
        expect(known.accepts(more + key)).toBe(false)
      }
    }
  })

  test('differ from characters that share a byte with theirs', () => {
    const known = new ApiKeys(['AAAAAAAA'])
    expect(known.accepts('AAAAAAAA')).toBe(true)
    for (const like of ['\u0141', '\uff41', '\u4141', '\xc1', 'A\0']) {
      expect(known.accepts(like.repeat(8))).toBe(false)
      expect(known.accepts(like.repeat(4))).toBe(false)
      expect(known.accepts(`AAAAAAA${like}`)).toBe(false)
    }
  })

  test('may be long, and values of any length are compared', () => {
    const known = new ApiKeys([longest])
    expect(known.accepts(longest)).toBe(true)
    for (const more of ['k', '\0', 'k'.repeat(100_000)]) expect(known.accepts(longest + more)).toBe(false)
    // A longer key would be cut, and others that begin like it would be accepted.
    expect(() => new ApiKeys([longest + 'k'])).toThrow('no more characters than are compared')
  })

  test('are compared independently of earlier calls', () => {
    const known = new ApiKeys(keys)
    for (const before of [longest, 'first-key', '', 'second-key'.repeat(50)]) {
      known.accepts(before)
      expect(known.accepts('first')).toBe(false)
      known.accepts(before)
      expect(known.accepts('first-key')).toBe(true)
    }
  })

  test('are never empty, and an empty list accepts no value', () => {
    for (const given of ['', '\0', 'first-key']) expect(new ApiKeys([]).accepts(given)).toBe(false)
    expect(new ApiKeys(keys).accepts('')).toBe(false)
  })

  test('that are replaced are no longer accepted', () => {
    const known = new ApiKeys(keys)
    known.replace(['third-key', 'second-key'])
    expect([...keys, 'third-key'].map((key) => known.accepts(key))).toEqual([false, true, true])
  })

  test('accept exactly what equals one of them, whatever the texts are', () => {
    const text = fc.string({ unit: 'binary', maxLength: 80 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), text, fc.nat(3), (list, other, at) => {
        const known = new ApiKeys(list)
        const same = list[at] ?? other
        return known.accepts(same) === list.includes(same) && known.accepts(other) === list.includes(other)
      }),
    )
  })
})

test('only timingSafeEqual compares keys', () => {
  const source = readFileSync(new URL('api-keys.ts', import.meta.url), 'utf8')
  expect(source).toContain('if (timingSafeEqual(known, given)) accepted = true')
  expect(source).not.toMatch(/[=!]==|\.(includes|indexOf|equals|compare|has|startsWith|find|some|every)\(/)
})
