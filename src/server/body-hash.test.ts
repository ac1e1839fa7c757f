/** The hash of a body that arrives. */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { BodyHash } from './body-hash.js'

test.each([[['whole']], [['in ', 'two']], [['in ', 'three', ' pieces']]])(
  'the hash of a body is that of its pieces: %j',
  (pieces) => {
    const body = new BodyHash()
    for (const piece of pieces) body.add(Buffer.from(piece), pieces.length === 1)
    expect(body.of(Buffer.from(pieces.join('')))).toEqual(hash('sha256', pieces.join(''), 'buffer'))
  },
)
