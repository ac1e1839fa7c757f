/**
 * Who counts as one client: from addresses of connections and from what proxies write.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientOf } from './client-address.js'

const ipv4 = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes)
const ipv6 = (...groups: number[]): Uint8Array =>
  Uint8Array.from(
    [...groups, ...Array<number>(8 - groups.length).fill(0)].flatMap((group) => [group >> 8, group & 0xff]),
  )
const peer = ipv4(198, 51, 100, 9)

describe('the other end of a connection', () => {
  test.each([
    [ipv4(192, 0, 2, 7), '192.0.2.7'],
    [ipv6(0x2001, 0xdb8, 0, 1, 0xaaaa), '2001:db8:0:1::/64'],
    [ipv6(0, 0, 0, 0, 0, 0xffff, 0xc000, 0x207), '192.0.2.7'],
    [new Uint8Array(), 'unknown'],
  ])('%j is %s', (bytes, name) => {
    expect(clientOf(bytes, '', 0)).toBe(name)
  })

  test('may stand anywhere in the memory of a larger buffer', () => {
    const memory = new Uint8Array(32)
    memory.set(ipv6(0x2001, 0xdb8, 0, 1), 9)
    expect(clientOf(memory.subarray(9, 25), '', 0)).toBe('2001:db8:0:1::/64')
  })
})

describe('X-Forwarded-For', () => {
  test('is ignored without a trusted proxy', () => {
    expect(clientOf(peer, '192.0.2.7', 0)).toBe('198.51.100.9')
  })

  test.each([
    ['192.0.2.7', 1, '192.0.2.7'],
    ['203.0.113.5, 192.0.2.7', 1, '192.0.2.7'],
    ['203.0.113.5, 192.0.2.7, 10.0.0.1', 2, '192.0.2.7'],
    ['192.0.2.7', 3, '192.0.2.7'],
    ['192.0.2.7:4711', 1, '192.0.2.7'],
    ['[2001:db8:0:1::9]:443', 1, '2001:db8:0:1::/64'],
    ['2001:DB8::9', 1, '2001:db8:0:0::/64'],
    ['::ffff:192.0.2.7', 1, '192.0.2.7'],
    ['fe80::1%eth0', 1, 'fe80:0:0:0::/64'],
    ['', 1, '198.51.100.9'],
    ['unknown', 1, '198.51.100.9'],
    ['192.0.2.7, nonsense', 1, '198.51.100.9'],
  ])('%j with %i trusted proxies is %s', (header, count, name) => {
    expect(clientOf(peer, header, count)).toBe(name)
  })

  test('what a client writes into it changes nothing that a trusted proxy adds', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 4 }), (forged, count) => {
        const proxies = Array.from({ length: count - 1 }, (_, index) => `10.0.0.${index}`)
        const header = [forged, '192.0.2.7', ...proxies].join(', ')
        expect(clientOf(peer, header, count)).toBe('192.0.2.7')
      }),
    )
  })

  test('an address in text and in bytes is the same client', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV6(),
          groups.map((list) => list.map((g) => g.toString(16)).join(':')),
        ),
        (text) => {
          // The URL parser of Node knows the short forms too.
          const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
          const parts = (half: string): number[] =>
            half === '' ? [] : half.split(':').map((g) => parseInt(g, 16))
          const left = parts(head)
          const right = parts(tail ?? '')
          const bytes = ipv6(...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right)
          expect(clientOf(peer, text, 1)).toBe(clientOf(bytes, '', 0))
        },
      ),
    )
  })
})
