/**
 * Resizes images as Pillow does, and so as most training code does: each pixel is a weighted mean of the pixels around its
 * centre, of more of them the smaller the result, first along the rows and then along the columns, with values rounded to
 * bytes after each. The results equal Pillow's. libvips shifts enlarged images by up to half a pixel. The means are computed
 * in C++ or, without the addon, in weighted-means.ts.
 */
import { loadAddon, type LineWeights, type RgbPixels, type WeightedMeans } from '../../codec/index.js'
import { referenceMeans, weightBits } from './weighted-means.js'

export interface Size {
  readonly width: number
  readonly height: number
}

/** A part of the resized image. */
export interface Region extends Size {
  readonly left: number
  readonly top: number
}

interface Kernel {
  /** Weights are zero from this distance on. */
  readonly support: number
  readonly weight: (distance: number) => number
}

/** Distances are in pixels of the smaller of the two images. */
const kernels = {
  bilinear: { support: 1, weight: (x) => Math.max(0, 1 - x) },
  // Keys' cubic with -0.5, which PyTorch also has with antialiasing. OpenCV and PyTorch without it have -0.75.
  bicubic: {
    support: 2,
    weight: (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0),
  },
  lanczos3: { support: 3, weight: (x) => (x < 3 ? sinc(x) * sinc(x / 3) : 0) },
} satisfies Record<string, Kernel>

export type Interpolation = keyof typeof kernels | 'nearest'

/** They give the same bytes. */
const fastestMeans = nativeMeans() ?? referenceMeans

/** The pixels of `region` of the image resized to `size`. */
export function resample(
  image: RgbPixels,
  size: Size,
  region: Region,
  interpolation: Interpolation,
  means = fastestMeans,
): Uint8Array {
  const make = (length: number, resizedLength: number, first: number, count: number): LineWeights =>
    interpolation === 'nearest'
      ? nearestWeights(length, resizedLength, first, count)
      : kernelWeights(kernels[interpolation], { length, resizedLength, first, count })
  const columns = make(image.width, size.width, region.left, region.width)
  const rows = make(image.height, size.height, region.top, region.height)
  return means(image, columns, rows)
}

/** Null if the addon does not load, as on a machine without a compiler. */
function nativeMeans(): WeightedMeans | null {
  try {
    return loadAddon().weightedMeans
  } catch {
    return null
  }
}

interface Line {
  readonly length: number
  readonly resizedLength: number
  /** Pixels of the result, from this one on. */
  readonly first: number
  readonly count: number
}

function kernelWeights(kernel: Kernel, { length, resizedLength, first, count }: Line): LineWeights {
  const step = length / resizedLength
  const spread = Math.max(1, step)
  const support = kernel.support * spread
  const weightsMax = 2 * Math.ceil(support) + 1
  const [starts, lengths] = [new Int32Array(count), new Int32Array(count)]
  const weights = new Int32Array(count * weightsMax)
  const exact = new Float64Array(weightsMax)
  for (let pixel = 0; pixel < count; pixel++) {
    const centre = (first + pixel + 0.5) * step
    const start = Math.max(0, Math.trunc(centre - support + 0.5))
    const end = Math.min(length, Math.trunc(centre + support + 0.5))
    let sum = 0
    for (let at = start; at < end; at++) {
      const weight = kernel.weight(Math.abs((at - centre + 0.5) * (1 / spread)))
      exact[at - start] = weight
      sum += weight
    }
    starts[pixel] = start
    lengths[pixel] = end - start
    for (let index = 0; index < end - start; index++)
      weights[pixel * weightsMax + index] = fixedPoint(sum === 0 ? exact[index]! : exact[index]! / sum)
  }
  return { count, starts, lengths, weights, weightsMax }
}

function nearestWeights(length: number, resizedLength: number, first: number, count: number): LineWeights {
  const starts = new Int32Array(count)
  const step = length / resizedLength
  // A running sum, as in Pillow, rounds where a product does not.
  let centre = step * 0.5
  for (let pixel = 0; pixel < first + count; pixel++, centre += step)
    if (pixel >= first) starts[pixel - first] = Math.min(length - 1, Math.trunc(centre))
  const ones = new Int32Array(count).fill(1)
  return { count, starts, lengths: ones, weights: ones.map(() => 1 << weightBits), weightsMax: 1 }
}

function fixedPoint(weight: number): number {
  const scaled = weight * (1 << weightBits)
  return Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5)
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI)
}
