/**
 * The weighted means that resize an image. `referenceMeans` defines the results; native/weighted_means.cc gives the same bytes and is
 * used if the addon loads.
 */
import type { LineWeights, RgbPixels, WeightedMeans } from '../../codec/index.js'

const channelCount = 3
/** Weights are integers with this many bits after the point: a sum of weighted bytes fits into 32 bits. */
export const weightBits = 22
/** Sums begin with it, so that they are rounded. */
const half = 1 << (weightBits - 1)

/** Means along the rows first, and then along the columns. */
export const referenceMeans: WeightedMeans = (image, columns, rows) =>
  meansOfColumns(meansOfRows(image, columns, rows), columns.count, rows)

/** The rows that `rows` reads, each resized; the others stay empty. */
function meansOfRows(
  { data, width, height }: RgbPixels,
  columns: LineWeights,
  rows: LineWeights,
): Uint8Array {
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

function meansOfColumns(lines: Uint8Array, width: number, rows: LineWeights): Uint8Array {
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

function byteOf(sum: number): number {
  const value = sum >> weightBits
  return value < 0 ? 0 : value > 255 ? 255 : value
}
