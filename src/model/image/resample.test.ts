/**
 * Resized images against Pillow's (test/golden/resize/pillow_resize.py computed them), and the native means against the reference.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addonOrNull } from '../../../test/helpers/codecs.js'
import { noise } from '../../../test/harness/jpeg.js'
import type { RgbPixels, WeightedMeans } from '../../codec/index.js'
import { Preprocessor } from './preprocess.js'
import { resample, type Interpolation } from './resample.js'
import { referenceMeans } from './weighted-means.js'

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

async function noisePixels(width: number, height: number): Promise<RgbPixels> {
  return { width, height, data: await noise(width, height).raw().toBuffer() }
}

describe.each(interpolations)('%s gives the bytes of Pillow', (interpolation) => {
  test.each(golden.resized)('from $from to $to pixels', async ({ from, to, sha256 }) => {
    const [width, height] = to
    const whole = { left: 0, top: 0, width, height }
    const image = await noisePixels(...from)
    for (const means of [undefined, referenceMeans]) {
      const pixels = resample(image, { width, height }, whole, interpolation, means)
      expect(digest(pixels)).toBe(sha256[interpolation])
    }
  })

  test.each(golden.prepared)(
    'from a JPEG of $size pixels, resized to $shortest_edge and cropped to $crop',
    async ({ jpeg, crop, shortest_edge, sha256 }) => {
      const [width, height] = crop
      const tensor = await new Preprocessor({
        resize: { shortest_edge },
        pad: null,
        crop: { width, height },
        interpolation,
        channels: 'rgb',
        layout: 'nhwc',
        scale: 1,
        mean: [0, 0, 0],
        std: [1, 1, 1],
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

describe.skipIf(addonOrNull === null)('the native means', () => {
  const nativeMeans: WeightedMeans = (...parts) => addonOrNull!.weightedMeans(...parts)

  /** Extreme bytes beside each other: with negative weights, the means lie outside those of a byte. */
  const image = fc
    .record({ width: fc.integer({ min: 1, max: 70 }), height: fc.integer({ min: 1, max: 40 }) })
    .chain(({ width, height }) => {
      const length = width * height * 3
      const byte = fc.oneof(fc.constantFrom(0, 255), fc.integer({ min: 0, max: 255 }))
      return fc.record({
        width: fc.constant(width),
        height: fc.constant(height),
        data: fc
          .array(byte, { minLength: length, maxLength: length, size: 'max' })
          .map((bytes) => Uint8Array.from(bytes)),
      })
    })
  /** A length, and a part of it. */
  const side = fc.integer({ min: 1, max: 90 }).chain((length) =>
    fc.integer({ min: 0, max: length - 1 }).chain((first) =>
      fc.record({
        length: fc.constant(length),
        first: fc.constant(first),
        count: fc.integer({ min: 1, max: length - first }),
      }),
    ),
  )

  test('are those of the reference, for any size and region', () => {
    fc.assert(
      fc.property(
        image,
        side,
        side,
        fc.constantFrom(...interpolations),
        (pixels, across, down, interpolation) => {
          const size = { width: across.length, height: down.length }
          const region = { left: across.first, top: down.first, width: across.count, height: down.count }
          const [actual, expected] = [nativeMeans, referenceMeans].map((means) =>
            resample(pixels, size, region, interpolation, means),
          )
          expect(actual).toEqual(expected)
        },
      ),
    )
  })

  test('refuse an image and weights that do not match', () => {
    const pixels: RgbPixels = { width: 2, height: 1, data: new Uint8Array(6) }
    const ints = (...values: number[]): Int32Array => Int32Array.from(values)
    const columns = { count: 2, starts: ints(0, 1), lengths: ints(1, 1), weights: ints(1, 1), weightsMax: 1 }
    const rows = { count: 1, starts: ints(0), lengths: ints(1), weights: ints(1), weightsMax: 1 }
    expect(nativeMeans(pixels, columns, rows)).toEqual(new Uint8Array(6))
    expect(() => nativeMeans({ ...pixels, height: 2 }, columns, rows)).toThrow(RangeError)
    for (const wrong of [
      { count: 0 },
      { count: 3 },
      { starts: ints(0) },
      { lengths: ints(1) },
      { weights: ints(1) },
      { starts: ints(-1, 1) },
      { starts: ints(0, 2) },
      { lengths: ints(1, 0) },
      { lengths: ints(2, 1) },
      { lengths: ints(1, -1) },
    ])
      expect(() => nativeMeans(pixels, { ...columns, ...wrong }, rows)).toThrow(
        new RangeError('the weights do not match the image'),
      )
    expect(() => nativeMeans(pixels, columns, { ...rows, starts: ints(1) })).toThrow(RangeError)
  })
})
