/**
 * Mutates valid JPEGs along their structure. Seeded, so that a number identifies an image.
 */
import type { Random } from '../harness/rng.js'

/** A segment, its marker and length included; the last one extends to the end of the file, with all scans in it. */
type Segment = Buffer

const startOfScan = 0xda
const frames = new Set([0xc0, 0xc1, 0xc2])

/** The segments after the signature, up to the first length that is not valid. */
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

function overwriteBytes(random: Random, bytes: Buffer, from: number, to: number): void {
  for (let count = 1 + random.below(6); count > 0 && to > from; count--)
    bytes[from + random.below(to - from)] = edgeByte(random)
}

/** Changes one of the segments that `which` selects, if there is one. */
function mutateSegment(
  random: Random,
  jpeg: Buffer,
  which: (segment: Segment) => boolean,
  mutation: (segment: Segment) => void,
): Buffer {
  const segments = segmentsOf(jpeg)
  const found = segments.filter(which)
  if (found.length > 0) mutation(random.pick(found))
  return jpegOf(segments)
}

const isFrame = (segment: Segment): boolean => frames.has(segment[1] ?? 0) && segment.length >= 11
const isTable = (segment: Segment): boolean => segment[1] === 0xdb || segment[1] === 0xc4

type Mutation = (random: Random, jpeg: Buffer, other: Buffer) => Buffer

/** Mutations by name. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'bytes of the head': (random, jpeg) => {
    const mutated = Buffer.from(jpeg)
    overwriteBytes(random, mutated, 2, Math.min(mutated.length, 800))
    return mutated
  },
  'bytes of the image': (random, jpeg) => {
    const mutated = Buffer.from(jpeg)
    overwriteBytes(random, mutated, mutated.length >> 1, mutated.length)
    return mutated
  },
  'lengths of segments': (random, jpeg) =>
    mutateSegment(
      random,
      jpeg,
      () => true,
      (segment) => {
        if (segment.length < 4) return
        const near = (segment.readUInt16BE(2) + random.below(9) - 4) & 0xffff
        segment.writeUInt16BE(random.chance(0.5) ? near : random.pick(edgeShorts), 2)
      },
    ),
  'wrong size': (random, jpeg) =>
    mutateSegment(random, jpeg, isFrame, (frame) => {
      if (random.chance(0.7)) frame.writeUInt16BE(random.pick(edgeSides), 5)
      if (random.chance(0.7)) frame.writeUInt16BE(random.pick(edgeSides), 7)
    }),
  'components, sampling and precision': (random, jpeg) =>
    mutateSegment(random, jpeg, isFrame, (frame) => {
      const at = random.pick([4, 9, ...Array.from({ length: frame.length - 10 }, (_, n) => 10 + n)])
      frame[at] = random.pick([0, 1, 2, 3, 4, 8, 12, 0x11, 0x14, 0x22, 0x41, 0x44, 0xff])
    }),
  'another kind of frame': (random, jpeg) =>
    mutateSegment(random, jpeg, isFrame, (frame) => {
      frame[1] = 0xc0 + random.below(16)
    }),
  'tables of numbers': (random, jpeg) =>
    mutateSegment(random, jpeg, isTable, (table) => overwriteBytes(random, table, 4, table.length)),
  metadata: (random, jpeg) =>
    mutateSegment(
      random,
      jpeg,
      (segment) => ((segment[1] ?? 0) & 0xf0) === 0xe0,
      (metadata) => overwriteBytes(random, metadata, 4, metadata.length),
    ),
  markers: (random, jpeg) =>
    mutateSegment(
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
    const segment = segments[at]!
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
    const scan = segmentsOf(jpeg).at(-1)!
    return Buffer.concat([jpeg.subarray(0, -2), ...Array<Buffer>(random.below(30)).fill(scan)])
  },
  'markers in the image': (random, jpeg) => {
    const mutated = Buffer.from(jpeg)
    for (let count = 1 + random.below(5); count > 0; count--)
      mutated.writeUInt16BE(
        0xff00 | random.pick([0xd0, 0xd5, 0xd9, 0xda, 0xd8, 0xdc, 0xc4, 0xfe]),
        middle(random, mutated),
      )
    return mutated
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

export interface MutatedImage {
  /** The last mutation. */
  readonly mutation: string
  readonly bytes: Buffer
}

/** One to three mutations of one of the JPEGs. */
export function mutatedImage(random: Random, jpegs: readonly Buffer[]): MutatedImage {
  let bytes = random.pick(jpegs)
  let mutation = ''
  for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) {
    mutation = random.pick(Object.keys(mutations))
    // What is left after a mutation may have no structure.
    if (bytes.length > 100) bytes = mutations[mutation]!(random, bytes, random.pick(jpegs))
  }
  return { mutation, bytes }
}
