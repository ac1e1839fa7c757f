/** The hash of a body that arrives. */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyHash } from './body-hash.js'

test('the hash of a body is that of its bytes, in however many pieces it arrives', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 6 }), (pieces) => {
      const body = new BodyHash()
      for (const piece of pieces) body.add(piece, pieces.length === 1)
      const whole = Buffer.concat(pieces)
      expect(body.of(whole)).toEqual(hash('sha256', whole, 'buffer'))
    }),
  )
})
