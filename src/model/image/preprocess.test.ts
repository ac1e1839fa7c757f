/**
 * The input tensors of an encoder, against references that go pixel by pixel.
 */
import fc from 'fast-check'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { inputShape } from './image-ports.js'
import { Preprocessor, type PixelValues, type PreprocessOptions } from './preprocess.js'

const plain: PreprocessOptions = {
  resize: { width: 8, height: 8 },
  pad: null,
  crop: null,
  interpolation: 'bicubic',
  channels: 'rgb',
  layout: 'nchw',
  scale: 1 / 255,
  mean: [0, 0, 0],
  std: [1, 1, 1],
}

interface Pixels {
  readonly width: number
  readonly height: number
  /** Three bytes per pixel. */
  readonly pixels: Uint8Array
}

/** A smooth image, so that JPEG keeps it, and its bytes. */
async function drawn(width: number, height: number): Promise<Uint8Array> {
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      pixels[at] = 128 + 100 * Math.sin(x / 9)
      pixels[at + 1] = 128 + 100 * Math.cos(y / 7)
      pixels[at + 2] = 128 + 60 * Math.sin((x + y) / 11)
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 95 })
    .toBuffer()
}

async function decoded(jpeg: Uint8Array): Promise<Pixels> {
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true })
  return { width: info.width, height: info.height, pixels: data }
}

function tensorOf(jpeg: Uint8Array, options: PreprocessOptions): Promise<PixelValues> {
  return new Preprocessor(options).tensorOf(jpeg)
}

/** Where a value is in the tensor. */
function valueAt(
  tensor: PixelValues,
  options: PreprocessOptions,
  channel: number,
  y: number,
  x: number,
): number {
  const [, a = 0, b = 0, c = 0] = inputShape(options, 1)
  const at = options.layout === 'nchw' ? (channel * b + y) * c + x : (y * b + x) * c + channel
  expect(options.layout === 'nchw' ? a : c).toBe(3)
  return tensor[at] ?? NaN
}

describe('without a resize, every value', () => {
  test('is its byte of the centre crop, scaled and normalised', async () => {
    const [width, height] = [21, 14]
    const jpeg = await drawn(width, height)
    const image = await decoded(jpeg)
    const triple = (min: number, max: number) => {
      const part = fc.double({ min, max, noNaN: true })
      return fc.tuple(part, part, part)
    }
    const variants = fc.record({
      channels: fc.constantFrom('rgb' as const, 'bgr' as const),
      layout: fc.constantFrom('nchw' as const, 'nhwc' as const),
      scale: fc.constantFrom(1, 1 / 255, 1 / 127.5),
      mean: triple(-1, 1),
      std: triple(0.1, 2),
      crop: fc.record({
        width: fc.integer({ min: 1, max: width }),
        height: fc.integer({ min: 1, max: height }),
      }),
    })
    await fc.assert(
      fc.asyncProperty(variants, async (variant) => {
        const options: PreprocessOptions = { ...plain, resize: { width, height }, ...variant }
        const tensor = await tensorOf(jpeg, options)
        const left = Math.floor((width - variant.crop.width) / 2)
        const top = Math.floor((height - variant.crop.height) / 2)
        for (let channel = 0; channel < 3; channel++) {
          const source = variant.channels === 'rgb' ? channel : 2 - channel
          for (let y = 0; y < variant.crop.height; y++) {
            for (let x = 0; x < variant.crop.width; x++) {
              const byte = image.pixels[((top + y) * width + left + x) * 3 + source] ?? NaN
              const expected = (byte * variant.scale - variant.mean[channel]!) / variant.std[channel]!
              const actual = valueAt(tensor, options, channel, y, x)
              expect(Math.abs(actual - expected)).toBeLessThanOrEqual(1e-6 * Math.max(1, Math.abs(expected)))
            }
          }
        }
      }),
      { numRuns: 40 },
    )
  })
})

test('a tensor of bytes has the pixels as they are, in the order of the channels', async () => {
  const [width, height] = [9, 6]
  const jpeg = await drawn(width, height)
  const { pixels } = await decoded(jpeg)
  const options: PreprocessOptions = {
    ...plain,
    resize: { width, height },
    layout: 'nhwc',
    channels: 'bgr',
    mean: null,
    std: null,
  }
  const tensor = await tensorOf(jpeg, options)
  expect(tensor).toBeInstanceOf(Uint8Array)
  expect([...tensor]).toEqual([...pixels].map((_, at) => pixels[at - (at % 3) + (2 - (at % 3))]))
})

/** Kernels by distance in target pixels, as Pillow and torchvision (with antialias) have them. */
const kernels = {
  bilinear: { support: 1, weight: (x: number) => Math.max(0, 1 - x) },
  bicubic: {
    support: 2,
    weight: (x: number) =>
      x < 1 ? 1.5 * x ** 3 - 2.5 * x ** 2 + 1 : x < 2 ? -0.5 * (x ** 3 - 5 * x ** 2 + 8 * x - 4) : 0,
  },
  lanczos3: {
    support: 3,
    weight: (x: number) =>
      x === 0
        ? 1
        : x < 3
          ? (3 * Math.sin(Math.PI * x) * Math.sin((Math.PI * x) / 3)) / (Math.PI * x) ** 2
          : 0,
  },
}

/** The value at (x, y) of the image resized to `size`: a weighted mean of all source pixels, one by one. */
function resampled(
  { width, height, pixels }: Pixels,
  size: { width: number; height: number },
  { support, weight }: (typeof kernels)['bilinear'],
  [channel, y, x]: readonly [number, number, number],
): number {
  const weights = (target: number, from: number, to: number): number[] => {
    const step = from / to
    const centre = (target + 0.5) * step
    const all = Array.from({ length: from }, (_, at) => {
      const distance = Math.abs(at + 0.5 - centre) / Math.max(1, step)
      return distance < support ? weight(distance) : 0
    })
    const sum = all.reduce((total, value) => total + value, 0)
    return all.map((value) => value / sum)
  }
  const [across, down] = [weights(x, width, size.width), weights(y, height, size.height)]
  let total = 0
  down.forEach((rowWeight, row) => {
    if (rowWeight === 0) return
    across.forEach((weightHere, column) => {
      total += rowWeight * weightHere * (pixels[(row * width + column) * 3 + channel] ?? NaN)
    })
  })
  return Math.min(255, Math.max(0, total))
}

describe('an image that is resized', () => {
  const sizes = [
    { width: 18, height: 15 },
    { width: 233, height: 101 },
    { width: 31, height: 150 },
  ]
  test.each(['bilinear', 'bicubic', 'lanczos3'] as const)(
    'is what a %s kernel over every source pixel gives, rounded along the rows and along the columns',
    async (interpolation) => {
      const jpeg = await drawn(90, 60)
      const image = await decoded(jpeg)
      for (const size of sizes) {
        const options = { ...plain, interpolation, resize: size, scale: 1 }
        const tensor = await tensorOf(jpeg, options)
        for (let channel = 0; channel < 3; channel++) {
          for (let y = 0; y < size.height; y++) {
            for (let x = 0; x < size.width; x++) {
              const expected = resampled(image, size, kernels[interpolation], [channel, y, x])
              const actual = valueAt(tensor, options, channel, y, x)
              // The rounding after the rows is half a level, and weights may be negative.
              if (Math.abs(actual - expected) > 1.25)
                expect({ x, y, actual }).toEqual({ x, y, actual: expected })
            }
          }
        }
      }
    },
  )

  test('by nearest neighbour has only values of the source', async () => {
    const jpeg = await drawn(64, 64)
    const { pixels } = await decoded(jpeg)
    const had = new Set(pixels)
    const tensor = await tensorOf(jpeg, { ...plain, interpolation: 'nearest', scale: 1 })
    expect([...tensor].every((value) => had.has(value))).toBe(true)
  })
})

describe('to a shortest edge', () => {
  test.each([
    ['wide', 60, 30],
    ['high', 30, 60],
    ['wide by a fraction of a pixel', 59, 20],
    ['high by a fraction of a pixel', 20, 59],
    ['longer than any screen', 4, 1024],
    ['of one size', 20, 20],
  ])('an image that is %s keeps its proportions and gives its middle', async (_, width, height) => {
    const jpeg = await drawn(width, height)
    const edge = 16
    const options: PreprocessOptions = {
      ...plain,
      resize: { shortest_edge: edge },
      crop: { width: 16, height: 16 },
      scale: 1,
    }
    const tensor = await tensorOf(jpeg, options)
    const whole =
      width <= height
        ? { width: edge, height: Math.floor((edge * height) / width) }
        : { width: Math.floor((edge * width) / height), height: edge }
    const all = await tensorOf(jpeg, { ...plain, resize: whole, scale: 1 })
    const [left, top] = [Math.floor((whole.width - edge) / 2), Math.floor((whole.height - edge) / 2)]
    for (let channel = 0; channel < 3; channel++) {
      for (let y = 0; y < edge; y++) {
        for (let x = 0; x < edge; x++) {
          const expected = all[(channel * whole.height + top + y) * whole.width + left + x] ?? NaN
          expect(Math.abs(valueAt(tensor, options, channel, y, x) - expected)).toBeLessThanOrEqual(1)
        }
      }
    }
  })
})

test('a grey image has three equal channels', async () => {
  const pixels = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const grey = await sharp(pixels, { raw: { width: 16, height: 16, channels: 1 } })
    .toColourspace('b-w')
    .jpeg()
    .toBuffer()
  expect((await sharp(grey).metadata()).channels).toBe(1)
  const tensor = await tensorOf(grey, plain)
  expect(tensor.subarray(0, 64)).toEqual(tensor.subarray(64, 128))
  expect(tensor.subarray(0, 64)).toEqual(tensor.subarray(128))
})

test('a damaged image is refused', async () => {
  const jpeg = await drawn(64, 64)
  for (const bytes of [new Uint8Array(0), Buffer.from('no image'), jpeg.subarray(0, jpeg.length >> 1)]) {
    await expect(tensorOf(bytes, plain)).rejects.toThrow()
  }
})
