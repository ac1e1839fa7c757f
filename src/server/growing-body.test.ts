/** The buffer of a body that arrives in pieces. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyBufferBytes } from '../codec/index.js'
import { GrowingBody } from './growing-body.js'

const piece = fc.uint8Array({ maxLength: 70_000 })

test('a body is its pieces in order, with padding after it, for any announced length', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(300_000), (pieces, announced) => {
      const body = new GrowingBody(announced)
      for (const bytes of pieces) body.append(Uint8Array.from(bytes))
      const whole = body.bytes()
      expect(Buffer.compare(whole, Buffer.concat(pieces))).toBe(0)
      expect(whole.byteOffset + bodyBufferBytes(whole.length)).toBeLessThanOrEqual(whole.buffer.byteLength)
    }),
  )
})

// An upload of some megabytes may be cut after its first packets.
test.each([1, 48 * 1024])(
  'an announced length of 16 MiB takes no memory until the bytes arrive: %i so far',
  (bytes) => {
    const body = new GrowingBody(16 * 1024 * 1024)
    body.append(new Uint8Array(bytes))
    expect(body.bytes().buffer.byteLength).toBeLessThan(100_000)
  },
)

test('a body is neither read nor extended nor released after its release', () => {
  const body = new GrowingBody(10)
  body.append(new Uint8Array(1))
  body.release()
  expect(() => body.bytes()).toThrow('after its release')
  expect(() => body.append(new Uint8Array(1))).toThrow('after its release')
  expect(() => body.release()).toThrow('released once')
})
