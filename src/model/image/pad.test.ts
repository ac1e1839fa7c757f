/**
 * Images that are fitted into a size with padding, against Pillow: test/golden/resize/pillow_resize.py computed them.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { noise } from '../../../test/harness/jpeg.js'
import type { Padding } from '../package/manifest.js'
import { padded } from './pad.js'
import { Preprocessor, type PreprocessOptions } from './preprocess.js'

type Pair = readonly [width: number, height: number]

const golden = JSON.parse(
  readFileSync(new URL('../../../test/golden/resize/pillow-resize.json', import.meta.url), 'utf8'),
) as {
  readonly padded: readonly {
    readonly from: Pair
    readonly to: Pair
    readonly side: Padding['side']
    readonly sha256: string
  }[]
}

test.each(golden.padded)(
  '$from in $to pixels with padding ($side) has the bytes of Pillow',
  async ({ from, to, side, sha256 }) => {
    const [width, height] = from
    const image = { width, height, data: await noise(width, height).raw().toBuffer() }
    const { data } = padded(image, { width: to[0], height: to[1] }, { color: [10, 20, 250], side }, 'bicubic')
    expect(createHash('sha256').update(data).digest('hex')).toBe(sha256)
  },
)

describe('the tensor of an image with padding', () => {
  const options: PreprocessOptions = {
    resize: { width: 8, height: 4 },
    pad: { color: [1, 2, 3], side: 'end' },
    crop: null,
    interpolation: 'bilinear',
    channels: 'rgb',
    layout: 'nhwc',
    scale: 1,
    mean: null,
    std: null,
  }
  const jpeg = async (): Promise<Uint8Array> => noise(6, 6).jpeg({ quality: 100 }).toBuffer()
  const rowsOf = (tensor: ArrayLike<number>, width: number): number[][] =>
    Array.from({ length: tensor.length / (3 * width) }, (_, row) =>
      Array.from({ length: 3 * width }, (_, at) => tensor[row * 3 * width + at] ?? NaN),
    )

  test('has the colour right of the image', async () => {
    const rows = rowsOf(await new Preprocessor(options).tensorOf(await jpeg()), 8)
    expect(rows).toHaveLength(4)
    for (const row of rows) expect(row.slice(12)).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3])
    const alone = { ...options, resize: { width: 4, height: 4 }, pad: null }
    const image = rowsOf(await new Preprocessor(alone).tensorOf(await jpeg()), 4)
    expect(rows.map((row) => row.slice(0, 12))).toEqual(image)
  })

  test('has the colour in the order of the channels, and is cropped last', async () => {
    const changed: PreprocessOptions = { ...options, channels: 'bgr', crop: { width: 4, height: 2 } }
    const rows = rowsOf(await new Preprocessor(changed).tensorOf(await jpeg()), 4)
    expect(rows).toHaveLength(2)
    // Columns 2 to 5 of the padded image, of which 4 and 5 are padding.
    for (const row of rows) expect(row.slice(6)).toEqual([3, 2, 1, 3, 2, 1])
  })
})
