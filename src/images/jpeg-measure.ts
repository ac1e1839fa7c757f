/**
 * Whether the coded data of a JPEG are as long as its pixels need. Zeros in the place of coded data often are valid codes, and libvips
 * sees neither what libjpeg says of the last row nor what is left behind it.
 */
import { mebibyte } from '../base/index.js'
import { imagePixelsMax } from '../contract/index.js'
import { codes, nextMarker, segmentEnd, uint16At } from './jpeg-segments.js'

/** Coded data seldom have as many zeros in a row, and data that were lost have more. */
const suspiciousZeros = Buffer.alloc(16)

/** Whether coded data may have been overwritten with zeros. */
export function hasZeros(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(suspiciousZeros, scanStart(bytes))
}

/** Pixels on an edge of a block of coefficients. */
const blockPixels = 8
/** A block of zeros has at most 64 codes of 16 bits, and 15 further bits for each. */
const blockBytesMax = 256
/** The edge that libjpeg permits. */
const heightMax = 65_500
const unitsMax = 65_535
const zerosMax = 4 * mebibyte

/**
 * A copy that decodes without a warning only if the coded data are exactly as long as the pixels need: they are one restart interval,
 * and the units of two more rows, made of zeros, follow in another. Null if there is no such copy: for progressive images, several
 * scans, restart intervals, and images that are too large.
 */
export function measuringJpeg(bytes: Uint8Array): Uint8Array | null {
  let frameAt = -1
  const scanAt = scanStart(bytes, (code, at) => {
    if (codes.startsOfFrame.includes(code)) frameAt = at
    return code !== codes.restartInterval
  })
  const dataAt = segmentEnd(bytes, scanAt)
  const end = nextMarker(bytes, dataAt)
  const { width, rows, columns, unitHeight, unitBlocks } = unitsOf(bytes, frameAt)
  const zeros = 2 * columns * unitBlocks * blockBytesMax
  const height = (rows + 1) * unitHeight + 1
  const isMeasurable =
    codes.sequentialFrames.includes(bytes[frameAt + 1] ?? 0) &&
    bytes[scanAt + 4] === bytes[frameAt + 9] &&
    bytes[end + 1] === codes.endOfImage &&
    rows * columns <= unitsMax &&
    height <= heightMax &&
    height * width <= imagePixelsMax &&
    zeros <= zerosMax
  if (!isMeasurable) return null
  const head = Buffer.from(bytes.subarray(0, scanAt))
  head.writeUInt16BE(height, frameAt + 5)
  const interval = Buffer.from([0xff, codes.restartInterval, 0, 4, 0, 0])
  interval.writeUInt16BE(rows * columns, 4)
  return Buffer.concat([
    head,
    interval,
    bytes.subarray(scanAt, end),
    Buffer.from([0xff, codes.firstRestart]),
    Buffer.alloc(zeros),
    Buffer.from([0xff, codes.endOfImage]),
  ])
}

/** Where the first scan begins: a segment. The length if there is none, or if `isWanted` is false for a segment before it. */
function scanStart(bytes: Uint8Array, isWanted: (code: number, at: number) => boolean = () => true): number {
  for (let at = 2; ;) {
    const code = bytes[at + 1]
    if (bytes[at] !== 0xff || code === undefined) return bytes.length
    if (code === codes.startOfScan) return at
    if (!isWanted(code, at)) return bytes.length
    at = code === 0xff ? at + 1 : segmentEnd(bytes, at)
  }
}

/** The units in which the components of a frame are interleaved. That of a single component is a block. */
function unitsOf(bytes: Uint8Array, frameAt: number) {
  const factors = Array.from(
    { length: bytes[frameAt + 9] ?? 0 },
    (_, index) => bytes[frameAt + 11 + 3 * index]!,
  )
  const sampled = factors.length === 1 ? [0x11] : factors
  const unitHeight = blockPixels * Math.max(1, ...sampled.map((factor) => factor & 15))
  const unitWidth = blockPixels * Math.max(1, ...sampled.map((factor) => factor >> 4))
  const width = uint16At(bytes, frameAt + 7)
  return {
    width,
    unitHeight,
    unitBlocks: sampled.reduce((sum, factor) => sum + (factor & 15) * (factor >> 4), 0),
    rows: Math.ceil(uint16At(bytes, frameAt + 5) / unitHeight),
    columns: Math.ceil(width / unitWidth),
  }
}
