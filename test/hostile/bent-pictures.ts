/**
 * Real JPEGs that are bent by someone who knows their structure: seeded, so that a number names a picture.
 */
import type { Random } from '../fuzz/random.js'

/** A segment, its marker and length included; the last one goes on to the end of the file, with all scans in it. */
type Segment = Buffer

const startOfScan = 0xda
const frames = new Set([0xc0, 0xc1, 0xc2])

/** The segments behind the signature, as far as their lengths lead. */
function segmentsOf(jpeg: Buffer): Segment[] {
  const segments: Segment[] = []
  let at = 2
  while (at + 4 <= jpeg.length && jpeg[at + 1] !== startOfScan) {
    const end = at + 2 + jpeg.readUInt16BE(at + 2)
    segments.push(Buffer.from(jpeg.subarray(at, end)))
    at = end
  }
  segments.push(Buffer.from(jpeg.subarray(at)))
  return segments
}

function jpegOf(segments: readonly Segment[]): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments])
}

const edgeBytes = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff]
const edgeShorts = [0, 1, 2, 3, 8, 0x7fff, 0x8000, 0xfffe, 0xffff]
const edgeSides = [0, 1, 7, 8, 15, 16, 17, 1024, 4096, 7071, 7072, 16_384, 65_500, 65_535]

function edgeByte(random: Random): number {
  return random.chance(0.5) ? random.pick(edgeBytes) : random.below(256)
}

function pokes(random: Random, bytes: Buffer, from: number, to: number): void {
  for (let count = 1 + random.below(6); count > 0 && to > from; count--)
    bytes[from + random.below(to - from)] = edgeByte(random)
}

/** Changes one of the segments that `which` picks, if there is one. */
function bendSegment(
  random: Random,
  jpeg: Buffer,
  which: (segment: Segment) => boolean,
  bend: (segment: Segment) => void,
): Buffer {
  const segments = segmentsOf(jpeg)
  const found = segments.filter(which)
  if (found.length > 0) bend(random.pick(found))
  return jpegOf(segments)
}

const isFrame = (segment: Segment): boolean => frames.has(segment[1] ?? 0) && segment.length >= 11
const isTable = (segment: Segment): boolean => segment[1] === 0xdb || segment[1] === 0xc4

type Bend = (random: Random, jpeg: Buffer, other: Buffer) => Buffer

/** What may be done to a picture, by name. */
export const bends: Readonly<Record<string, Bend>> = {
  'bytes of the head': (random, jpeg) => {
    const bent = Buffer.from(jpeg)
    pokes(random, bent, 2, Math.min(bent.length, 800))
    return bent
  },
  'bytes of the picture': (random, jpeg) => {
    const bent = Buffer.from(jpeg)
    pokes(random, bent, bent.length >> 1, bent.length)
    return bent
  },
  'lengths of segments': (random, jpeg) =>
    bendSegment(
      random,
      jpeg,
      () => true,
      (segment) => {
        if (segment.length < 4) return
        const near = (segment.readUInt16BE(2) + random.below(9) - 4) & 0xffff
        segment.writeUInt16BE(random.chance(0.5) ? near : random.pick(edgeShorts), 2)
      },
    ),
  'lies about the size': (random, jpeg) =>
    bendSegment(random, jpeg, isFrame, (frame) => {
      if (random.chance(0.7)) frame.writeUInt16BE(random.pick(edgeSides), 5)
      if (random.chance(0.7)) frame.writeUInt16BE(random.pick(edgeSides), 7)
    }),
  'components, sampling and precision': (random, jpeg) =>
    bendSegment(random, jpeg, isFrame, (frame) => {
      const at = random.pick([4, 9, ...Array.from({ length: frame.length - 10 }, (_, n) => 10 + n)])
      frame[at] = random.pick([0, 1, 2, 3, 4, 8, 12, 0x11, 0x14, 0x22, 0x41, 0x44, 0xff])
    }),
  'another kind of frame': (random, jpeg) =>
    bendSegment(random, jpeg, isFrame, (frame) => {
      frame[1] = 0xc0 + random.below(16)
    }),
  'tables of numbers': (random, jpeg) =>
    bendSegment(random, jpeg, isTable, (table) => pokes(random, table, 4, table.length)),
  metadata: (random, jpeg) =>
    bendSegment(
      random,
      jpeg,
      (segment) => ((segment[1] ?? 0) & 0xf0) === 0xe0,
      (metadata) => pokes(random, metadata, 4, metadata.length),
    ),
  markers: (random, jpeg) =>
    bendSegment(
      random,
      jpeg,
      () => true,
      (segment) => {
        segment[1] = 0xc0 + random.below(64)
      },
    ),
  'order and number of segments': (random, jpeg) => {
    const segments = segmentsOf(jpeg)
    const at = random.below(segments.length)
    const segment = segments[at] as Segment
    switch (random.below(3)) {
      case 0:
        segments.splice(at, 1)
        break
      case 1:
        segments.splice(
          random.below(segments.length),
          0,
          ...Array<Segment>(1 + random.below(40)).fill(segment),
        )
        break
      default:
        segments.splice(at, 1)
        segments.splice(random.below(segments.length + 1), 0, segment)
    }
    return jpegOf(segments)
  },
  'scans over and over': (random, jpeg) => {
    const scan = segmentsOf(jpeg).at(-1) as Segment
    return Buffer.concat([jpeg.subarray(0, -2), ...Array<Buffer>(random.below(30)).fill(scan)])
  },
  'markers in the picture': (random, jpeg) => {
    const bent = Buffer.from(jpeg)
    for (let count = 1 + random.below(5); count > 0; count--)
      bent.writeUInt16BE(
        0xff00 | random.pick([0xd0, 0xd5, 0xd9, 0xda, 0xd8, 0xdc, 0xc4, 0xfe]),
        middle(random, bent),
      )
    return bent
  },
  truncated: (random, jpeg) => jpeg.subarray(0, 2 + random.below(jpeg.length - 2)),
  'spliced with another': (random, jpeg, other) =>
    random.chance(0.5)
      ? Buffer.concat([
          jpeg.subarray(0, random.below(jpeg.length)),
          other.subarray(random.below(other.length)),
        ])
      : jpegOf([...segmentsOf(jpeg).slice(0, -1), ...segmentsOf(other).slice(random.below(4))]),
  'bytes put in': (random, jpeg) => {
    const at = 2 + random.below(jpeg.length - 2)
    const put = Buffer.from(Array.from({ length: random.below(70) }, () => edgeByte(random)))
    return Buffer.concat([jpeg.subarray(0, at), put, jpeg.subarray(at)])
  },
}

function middle(random: Random, bytes: Buffer): number {
  const from = bytes.length >> 1
  return from + random.below(bytes.length - from - 2)
}

export interface BentPicture {
  /** The last thing done to it. */
  readonly bend: string
  readonly bytes: Buffer
}

/** One to three bends of one of the pictures. */
export function bentPicture(random: Random, pictures: readonly Buffer[]): BentPicture {
  let bytes = random.pick(pictures)
  let bend = ''
  for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) {
    bend = random.pick(Object.keys(bends))
    // What is left after a bend may have no structure any more.
    if (bytes.length > 100) bytes = (bends[bend] as Bend)(random, bytes, random.pick(pictures))
  }
  return { bend, bytes }
}
