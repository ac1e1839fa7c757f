/**
 * Makes a copy of a JPEG without the defects that change no pixel (docs/contract.md). Linear in the bytes, whatever they contain.
 */
import { imageSegmentsMax } from '../contract/index.js'
import { codes, nextMarker, segmentEnd } from './jpeg-segments.js'

/** What a copy is made without: defects of segments, or also padding at the ends of scans. */
export type Repair = 'segments' | 'scans'

/**
 * A copy of the first image in the file as libjpeg reads it: bytes between segments are removed; the JFIF revision, an
 * unknown Adobe colour transform and the spectral selection of sequential scans, which libjpeg ignores, have the values
 * that it assumes; a file that ends after all scans of its image has an end marker. `scans`: zeros, or a repeated byte, before
 * the markers that end scans and restart intervals are removed; where they replaced coded data, the decoder then misses it.
 * Returns null for too many segments.
 */
export function repairedJpeg(bytes: Uint8Array, repair: Repair): Uint8Array | null {
  // Not `slice`: that of a Buffer is a view.
  const copy = new Uint8Array(bytes)
  let frame: Frame | null = null
  let adobeAt = -1
  // Bytes up to `kept` are in place; the next segment, which begins at `at` or later, moves there.
  let kept = 2
  let at = 2
  const keep = (start: number, end: number): number => {
    copy.copyWithin(kept, start, end)
    const movedTo = kept
    kept += Math.min(end, copy.length) - start
    return movedTo
  }
  for (let count = 0; count <= imageSegmentsMax; count++) {
    const start = nextMarker(copy, at)
    const code = copy[start + 1]
    const end = segmentEnd(copy, start)
    if (code === codes.startOfScan && frame !== null) {
      if (!frame.isProgressive) restoreSpectralSelection(copy, start, end)
      noteScan(frame, copy, start, end)
    }
    if (code === codes.app0 && nameAt(copy, start) === 'JFIF\0') copy[start + 9] = 1
    const isAdobe = code === codes.app14 && nameAt(copy, start) === 'Adobe'
    // libjpeg refuses a second one.
    if (code !== undefined && codes.startsOfFrame.includes(code)) frame ??= readFrame(copy, start, code)
    const movedTo = keep(start, end)
    if (isAdobe) adobeAt = movedTo
    at = end
    if (code === undefined || code === codes.endOfImage) {
      if (adobeAt >= 0 && copy[adobeAt + 15] !== 0) copy[adobeAt + 15] = frame?.componentCount === 4 ? 2 : 1
      const image = copy.subarray(0, kept)
      return code === undefined && isComplete(frame) ? withEndMarker(image) : image
    }
    if (code === codes.startOfScan) at = keepScan(copy, end, repair, keep)
  }
  return null
}

interface Frame {
  readonly isProgressive: boolean
  readonly componentCount: number
  /** How many of the low bits no scan has had yet, by component and for each of its 64 coefficients. */
  readonly missingBits: ReadonlyMap<number, Uint8Array>
}

const coefficientCount = 64
/** More than any coefficient has. */
const allBits = 16

function readFrame(bytes: Uint8Array, start: number, code: number): Frame {
  const componentCount = bytes[start + 9] ?? 3
  const components = Array.from({ length: componentCount }, (_, index) => bytes[start + 10 + 3 * index] ?? 0)
  return {
    isProgressive: codes.progressiveFrames.includes(code),
    componentCount,
    missingBits: new Map(components.map((id) => [id, new Uint8Array(coefficientCount).fill(allBits)])),
  }
}

/** Notes which bits of which coefficients the scan at `start` has. */
function noteScan({ missingBits }: Frame, bytes: Uint8Array, start: number, end: number): void {
  const componentCount = bytes[start + 4] ?? 0
  const at = start + 5 + 2 * componentCount
  if (at + 3 > end) return
  const [first, last, bits] = [bytes[at]!, bytes[at + 1]!, bytes[at + 2]! & 15]
  for (let index = 0; index < componentCount; index++)
    missingBits.get(bytes[start + 5 + 2 * index]!)?.fill(bits, first, last + 1)
}

/** Whether the scans have all bits of the image. One that was cut between two scans would lack some, without a warning. */
function isComplete(frame: Frame | null): boolean {
  return (
    frame !== null && [...frame.missingBits.values()].every((bits) => bits.every((missing) => missing === 0))
  )
}

function withEndMarker(image: Uint8Array): Uint8Array {
  const complete = new Uint8Array(image.length + 2)
  complete.set(image)
  complete.set([0xff, codes.endOfImage], image.length)
  return complete
}

/** Keeps the coded data from `from` on. Returns their end: a marker other than a restart, or the end of the file. */
function keepScan(
  bytes: Uint8Array,
  from: number,
  repair: Repair,
  keep: (start: number, end: number) => void,
): number {
  let keepFrom = from
  for (let start = from; ;) {
    const end = nextMarker(bytes, start)
    const dataEnd = repair === 'scans' ? withoutPadding(bytes, start, end) : end
    const code = bytes[end + 1]
    const isLast = code === undefined || code < 0xd0 || code > 0xd7
    if (isLast || dataEnd < end) {
      keep(keepFrom, dataEnd)
      keepFrom = end
    }
    if (isLast) return end
    start = end + 2
  }
}

/** A repeated byte other than zero is padding from this length on: coded data may end with two or three equal bytes. */
const repeatedBytesMin = 4

/** The end of the coded data in [start, end) without the padding after it. */
function withoutPadding(bytes: Uint8Array, start: number, end: number): number {
  const padding = bytes[end - 1]
  let from = end
  while (from > start && bytes[from - 1] === padding) from--
  if (padding !== 0) return end - from < repeatedBytesMin ? end : from
  // The zero after 0xff belongs to it.
  return from > start && bytes[from - 1] === 0xff ? from + 1 : from
}

/** A scan of a sequential frame has all coefficients, 0 to 63, with all their bits. */
function restoreSpectralSelection(bytes: Uint8Array, start: number, end: number): void {
  const at = start + 5 + 2 * (bytes[start + 4] ?? 0)
  if (at + 3 <= end) bytes.set([0, 63, 0], at)
}

function nameAt(bytes: Uint8Array, start: number): string {
  return String.fromCharCode(...bytes.subarray(start + 4, start + 9))
}
