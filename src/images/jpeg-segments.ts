/**
 * The segments of a JPEG (ISO 10918-1, annex B): finds them, limits their number, and reads the size of the frame. Every function is
 * linear in the bytes, whatever they contain.
 */
import { imageSegmentsMax } from '../contract/index.js'

/** Codes of markers, which follow 0xff. */
export const codes = {
  app0: 0xe0,
  app14: 0xee,
  startOfScan: 0xda,
  endOfImage: 0xd9,
  restartInterval: 0xdd,
  firstRestart: 0xd0,
  startsOfFrame: [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf],
  /** Huffman-coded and sequential. */
  sequentialFrames: [0xc0, 0xc1],
  progressiveFrames: [0xc2, 0xc6, 0xca, 0xce],
}

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** What the segments before the first scan state; no further than the first bytes that are no segment. */
export interface JpegHead {
  /** More than the permitted number of segments and fill bytes; the rest is not read. */
  readonly hasTooManySegments: boolean
  /** Pixels of the frame. Null if no frame was read. */
  readonly size: ImageSize | null
}

export function readHead(bytes: Uint8Array): JpegHead {
  let size: ImageSize | null = null
  let at = 2
  for (let count = 0; count <= imageSegmentsMax; count++) {
    const code = bytes[at + 1]
    if (bytes[at] !== 0xff || code === undefined || code === codes.startOfScan)
      return { hasTooManySegments: false, size }
    if (codes.startsOfFrame.includes(code))
      size = { height: uint16At(bytes, at + 5), width: uint16At(bytes, at + 7) }
    at = code === 0xff ? at + 1 : segmentEnd(bytes, at)
  }
  return { hasTooManySegments: true, size }
}

/** Longest run that is scanned byte by byte: a native call costs as much. */
const shortRunBytes = 24

/** Offset of the next marker: 0xff and neither the zero of coded data nor another 0xff. Without one, the length. */
export function nextMarker(bytes: Uint8Array, from: number): number {
  for (let at = from, searchFrom = from + shortRunBytes; at + 1 < bytes.length; at++) {
    if (bytes[at] === 0xff) {
      const code = bytes[at + 1]!
      if (code !== 0 && code !== 0xff) return at
      if (code === 0) at++
      searchFrom = at + shortRunBytes
    } else if (at >= searchFrom) {
      const next = bytes.indexOf(0xff, at)
      if (next < 0) break
      at = next - 1
    }
  }
  return bytes.length
}

/** The end of the segment at `at`: markers without a length are TEM, restarts, and the start and end of an image. */
export function segmentEnd(bytes: Uint8Array, at: number): number {
  const code = bytes[at + 1] ?? codes.endOfImage
  if (code === 1 || (code >= 0xd0 && code <= codes.endOfImage)) return at + 2
  return at + 2 + Math.max(2, uint16At(bytes, at + 2))
}

/** Bytes after the end count as zeros. */
export function uint16At(bytes: Uint8Array, at: number): number {
  return 256 * (bytes[at] ?? 0) + (bytes[at + 1] ?? 0)
}
