/**
 * Resized images against Pillow's: test/golden/resize/pillow_resize.py computed them.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { noise } from '../../../test/helpers/jpeg.js'
import { Preprocessor } from './preprocess.js'
import { resample, type Interpolation, type Pixels } from './resample.js'

type Pair = readonly [width: number, height: number]
type Digests = Readonly<Record<Interpolation, string>>

const golden = JSON.parse(
  readFileSync(new URL('../../../test/golden/resize/pillow-resize.json', import.meta.url), 'utf8'),
) as {
  readonly resized: readonly { readonly from: Pair; readonly to: Pair; readonly sha256: Digests }[]
  readonly jpegs: readonly string[]
  readonly prepared: readonly {
    readonly size: Pair
    readonly jpeg: number
    readonly shortest_edge: number
    readonly crop: Pair
    readonly sha256: Digests
  }[]
}

const interpolations = ['nearest', 'bilinear', 'bicubic', 'lanczos3'] as const

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function noisePixels(width: number, height: number): Promise<Pixels> {
  return { width, height, data: await noise(width, height).raw().toBuffer() }
}

describe.each(interpolations)('%s gives the bytes of Pillow', (interpolation) => {
  test.each(golden.resized)('from $from to $to pixels', async ({ from, to, sha256 }) => {
    const [width, height] = to
    const whole = { left: 0, top: 0, width, height }
    const pixels = resample(await noisePixels(...from), { width, height }, whole, interpolation)
    expect(digest(pixels)).toBe(sha256[interpolation])
  })

  test.each(golden.prepared)(
    'from a JPEG of $size pixels, resized to $shortest_edge and cropped to $crop',
    async ({ jpeg, crop, shortest_edge, sha256 }) => {
      const [width, height] = crop
      const tensor = await new Preprocessor({
        ...{ resize: { shortest_edge }, pad: null, crop: { width, height }, interpolation },
        ...{ channels: 'rgb', layout: 'nhwc', scale: 1, mean: [0, 0, 0], std: [1, 1, 1] },
      }).tensorOf(Buffer.from(golden.jpegs[jpeg] ?? '', 'base64'))
      expect(digest(Uint8Array.from(tensor))).toBe(sha256[interpolation])
    },
  )
})

test('a region has the pixels that it has in the whole image', async () => {
  const image = await noisePixels(37, 29)
  const size = { width: 50, height: 20 }
  const region = { left: 11, top: 3, width: 17, height: 9 }
  for (const interpolation of interpolations) {
    const all = resample(image, size, { left: 0, top: 0, ...size }, interpolation)
    const part = resample(image, size, region, interpolation)
    for (let y = 0; y < region.height; y++) {
      const from = ((region.top + y) * size.width + region.left) * 3
      expect(part.subarray(y * region.width * 3, (y + 1) * region.width * 3)).toEqual(
        new Uint8Array(all.subarray(from, from + region.width * 3)),
      )
    }
  }
})
