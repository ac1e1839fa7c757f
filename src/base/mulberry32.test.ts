/** The generator: reports and shipped models depend on its numbers. */
import { expect, test } from 'vitest'
import { mulberry32 } from './index.js'

test.each([
  [0, [1144304738, 1416247, 958946056]],
  [0x5eed, [3049564378, 1229806541, 4088390650]],
  [2 ** 31, [3524353788, 1924613307, 3365584844]],
])('the sequence of the seed %i is that of the published C code', (seed, bits) => {
  const random = mulberry32(seed)
  expect(bits.map(() => random() * 2 ** 32)).toEqual(bits)
})
