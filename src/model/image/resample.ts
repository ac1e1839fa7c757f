/**
 * Resizes images as Pillow does, and so as most training code does: each pixel is a weighted mean of the pixels around its
 * centre, of more of them the smaller the result, first along the rows and then along the columns, with values rounded to
 * bytes after each. The results equal Pillow's. libvips shifts enlarged images by up to half a pixel.
 */

export interface Size {
  readonly width: number
  readonly height: number
}

/** A part of the resized image. */
export interface Region extends Size {
  readonly left: number
  readonly top: number
}

/** RGB, three bytes per pixel, row by row. */
export interface Pixels extends Size {
  readonly data: Uint8Array
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

const channelCount = 3
/** Weights are integers with this many bits after the point: a sum of weighted bytes fits into 32 bits. */
const weightBits = 22

/** The pixels of `region` of the image resized to `size`. */
export function resample(
  image: Pixels,
  size: Size,
  region: Region,
  interpolation: Interpolation,
): Uint8Array {
  const make = (length: number, resizedLength: number, first: number, count: number): Weights =>
    interpolation === 'nearest'
      ? nearestWeights(length, resizedLength, first, count)
      : kernelWeights(kernels[interpolation], { length, resizedLength, first, count })
  const columns = make(image.width, size.width, region.left, region.width)
  const rows = make(image.height, size.height, region.top, region.height)
  const lines = resampleRows(image, columns, rows)
  return resampleColumns(lines, region.width, rows)
}

/** Where the pixels of a resized line come from. */
interface Weights {
  /** Pixels of the result. */
  readonly count: number
  /** The first source pixel of each pixel of the result, and the number of them. */
  readonly starts: Int32Array
  readonly lengths: Int32Array
  /** Weights of each pixel of the result, at multiples of `weightsMax`. */
  readonly weights: Int32Array
  readonly weightsMax: number
}

interface Line {
  readonly length: number
  readonly resizedLength: number
  /** Pixels of the result, from this one on. */
  readonly first: number
  readonly count: number
}

function kernelWeights(kernel: Kernel, { length, resizedLength, first, count }: Line): Weights {
  const step = length / resizedLength
  const spread = Math.max(1, step)
  const support = kernel.support * spread
  const weightsMax = 2 * Math.ceil(support) + 1
  const [starts, lengths] = [new Int32Array(count), new Int32Array(count)]
  const weights = new Int32Array(count * weightsMax)
  for (let pixel = 0; pixel < count; pixel++) {
    const centre = (first + pixel + 0.5) * step
    const start = Math.max(0, Math.trunc(centre - support + 0.5))
    const end = Math.min(length, Math.trunc(centre + support + 0.5))
    const exact = Array.from({ length: end - start }, (_, index) =>
      kernel.weight(Math.abs((start + index - centre + 0.5) * (1 / spread))),
    )
    const sum = exact.reduce((total, weight) => total + weight, 0)
    starts[pixel] = start
    lengths[pixel] = end - start
    exact.forEach((weight, index) => {
      weights[pixel * weightsMax + index] = fixedPoint(sum === 0 ? weight : weight / sum)
    })
  }
  return { count, starts, lengths, weights, weightsMax }
}

function nearestWeights(length: number, resizedLength: number, first: number, count: number): Weights {
  const starts = new Int32Array(count)
  const step = length / resizedLength
  // A running sum, as in Pillow, rounds where a product does not.
  let centre = step * 0.5
  for (let pixel = 0; pixel < first + count; pixel++, centre += step)
    if (pixel >= first) starts[pixel - first] = Math.min(length - 1, Math.trunc(centre))
  const ones = new Int32Array(count).fill(1)
  return { count, starts, lengths: ones, weights: ones.map(() => 1 << weightBits), weightsMax: 1 }
}

/** The rows that `rows` reads, each resized; the others stay empty. */
function resampleRows({ data, width, height }: Pixels, columns: Weights, rows: Weights): Uint8Array {
  const { count, starts, lengths, weights, weightsMax } = columns
  const target = new Uint8Array(height * count * channelCount)
  const last = rows.count - 1
  const end = rows.starts[last]! + rows.lengths[last]!
  for (let row = rows.starts[0]!; row < end; row++) {
    let to = row * count * channelCount
    for (let pixel = 0; pixel < count; pixel++) {
      let from = (row * width + starts[pixel]!) * channelCount
      let red = half
      let green = half
      let blue = half
      const first = pixel * weightsMax
      const afterLast = first + lengths[pixel]!
      for (let at = first; at < afterLast; at++, from += channelCount) {
        const weight = weights[at]!
        red += Math.imul(data[from]!, weight)
        green += Math.imul(data[from + 1]!, weight)
        blue += Math.imul(data[from + 2]!, weight)
      }
      target[to++] = byteOf(red)
      target[to++] = byteOf(green)
      target[to++] = byteOf(blue)
    }
  }
  return target
}

function resampleColumns(lines: Uint8Array, width: number, rows: Weights): Uint8Array {
  const { count, starts, lengths, weights, weightsMax } = rows
  const rowValues = width * channelCount
  const target = new Uint8Array(count * rowValues)
  const sums = new Int32Array(rowValues)
  for (let row = 0; row < count; row++) {
    sums.fill(half)
    let from = starts[row]! * rowValues
    const first = row * weightsMax
    const afterLast = first + lengths[row]!
    for (let at = first; at < afterLast; at++, from += rowValues) {
      const weight = weights[at]!
      for (let value = 0; value < rowValues; value++)
        sums[value] = sums[value]! + Math.imul(lines[from + value]!, weight)
    }
    for (let value = 0; value < rowValues; value++) target[row * rowValues + value] = byteOf(sums[value]!)
  }
  return target
}

/** Sums begin with it, so that they are rounded. */
const half = 1 << (weightBits - 1)

function byteOf(sum: number): number {
  const value = sum >> weightBits
  return value < 0 ? 0 : value > 255 ? 255 : value
}

function fixedPoint(weight: number): number {
  const scaled = weight * (1 << weightBits)
  return Math.trunc(scaled < 0 ? scaled - 0.5 : scaled + 0.5)
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI)
}
