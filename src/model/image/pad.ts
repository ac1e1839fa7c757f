/**
 * Fits an image into a size, keeping its aspect ratio, and fills the rest with a colour, as `ImageOps.pad` of Pillow does.
 */
import type { RgbPixels } from '../../codec/index.js'
import type { Padding } from '../package/manifest.js'
import { resample, type Interpolation, type Region, type Size } from './resample.js'

const channelCount = 3
/** The share of the padding that is in front of the image. */
const shareInFront = { start: 1, end: 0, both: 0.5 }

/** The image in an image of `size`. */
export function padded(
  image: RgbPixels,
  size: Size,
  { color, side }: Padding,
  interpolation: Interpolation,
): RgbPixels {
  const inner = containedSize(image, size)
  const pixels = resample(image, inner, { left: 0, top: 0, ...inner }, interpolation)
  const data = new Uint8Array(size.width * size.height * channelCount)
  for (let at = 0; at < data.length; at += channelCount) data.set(color, at)
  const left = roundHalfToEven((size.width - inner.width) * shareInFront[side])
  const top = roundHalfToEven((size.height - inner.height) * shareInFront[side])
  const rowBytes = inner.width * channelCount
  for (let row = 0; row < inner.height; row++)
    data.set(
      pixels.subarray(row * rowBytes, (row + 1) * rowBytes),
      ((top + row) * size.width + left) * channelCount,
    )
  return { ...size, data }
}

/** The pixels of a part of an image. */
export function cropped(
  { data, width: rowPixels }: RgbPixels,
  { left, top, width, height }: Region,
): Uint8Array {
  const target = new Uint8Array(width * height * channelCount)
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * rowPixels + left) * channelCount
    target.set(data.subarray(start, start + width * channelCount), row * width * channelCount)
  }
  return target
}

/** The largest size of the same aspect ratio, at least one pixel. */
function containedSize(image: Size, { width, height }: Size): Size {
  const ratio = image.width / image.height
  if (ratio > width / height)
    return { width, height: Math.max(1, roundHalfToEven((image.height / image.width) * width)) }
  if (ratio < width / height)
    return { width: Math.max(1, roundHalfToEven((image.width / image.height) * height)), height }
  return { width, height }
}

/** Python's rounding. */
function roundHalfToEven(value: number): number {
  const below = Math.floor(value)
  const isHalf = value - below === 0.5
  return isHalf ? below + (below % 2) : Math.round(value)
}
