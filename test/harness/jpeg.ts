/**
 * JPEGs for tests: pictures from an encoder, and what is changed or put together by hand (ISO 10918-1, CIPA DC-007).
 */
import sharp, { type Sharp } from 'sharp'
import { Random } from './rng.js'

/** An image with detail everywhere, so that its compressed bytes are spread over all of it. */
export function draw(width: number, height: number): Sharp {
  const data = Buffer.alloc(width * height * 3)
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      data[at++] = (x * 255) / width
      data[at++] = (y * 255) / height
      data[at++] = (x * 7 + y * 13) & 255
    }
  return sharp(data, { raw: { width, height, channels: 3 } })
}

/**
 * Noise, the one of test/golden/resize/pillow_resize.py: its coded data are long enough that other bytes in their place also
 * code the rest of the picture.
 */
export function noise(width: number, height: number): Sharp {
  let state = 1
  const data = Buffer.from(
    Array.from({ length: width * height * 3 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state >> 16
    }),
  )
  return sharp(data, { raw: { width, height, channels: 3 } })
}

/** A JPEG of one colour, 64 by 48 pixels; each number gives other bytes. */
export function smallJpeg(number: number): Promise<Buffer> {
  const background = { r: number % 256, g: (number * 7) % 256, b: (number >> 8) % 256 }
  return sharp({ create: { width: 64, height: 48, channels: 3, background } })
    .jpeg()
    .toBuffer()
}

const photograph = { width: 1024, height: 768, bytes: 200_000 }

/** A function that makes JPEGs of 1024 pixels and about 200 kB, which differ in a comment. */
export async function photographs(): Promise<(number: number) => Buffer> {
  const base = await drawPhotograph()
  return (number) => insert(base, 2, segmentOf(0xfe, `picture ${number}`))
}

/** An image with the statistics of a photograph: smooth colours with noise, in the quality that gives the size. */
async function drawPhotograph(): Promise<Buffer> {
  const { width, height, bytes } = photograph
  const random = new Random(1)
  const pixels = Buffer.alloc(width * height * 3)
  for (let at = 0; at < pixels.length; at++) {
    const x = Math.floor(at / 3) % width
    const y = Math.floor(at / 3 / width)
    const smooth = 128 + 60 * Math.sin(x / 90 + (at % 3)) + 40 * Math.cos(y / 70)
    pixels[at] = Math.max(0, Math.min(255, smooth + random.below(29) - 14))
  }
  const encode = (quality: number): Promise<Buffer> =>
    sharp(pixels, { raw: { width, height, channels: 3 } })
      .jpeg({ quality })
      .toBuffer()
  let best = await encode(60)
  for (const quality of [70, 76, 80, 84, 88, 91]) {
    const jpeg = await encode(quality)
    if (Math.abs(jpeg.length - bytes) < Math.abs(best.length - bytes)) best = jpeg
  }
  return best
}

/** Offset of the first segment with one of these markers. */
export function segmentAt(bytes: Buffer, ...markers: readonly number[]): number {
  let offset = 2
  while (!markers.includes(bytes[offset + 1]!)) offset += 2 + bytes.readUInt16BE(offset + 2)
  return offset
}

export function insert(bytes: Buffer, offset: number, added: Uint8Array | readonly number[]): Buffer {
  return Buffer.concat([bytes.subarray(0, offset), Uint8Array.from(added), bytes.subarray(offset)])
}

/** A segment with this content: bytes, or text of Latin-1. */
export function segmentOf(marker: number, content: Uint8Array | string): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(bytes.length + 2, 2)
  return Buffer.concat([head, bytes])
}

/** A copy whose coded data are overwritten from the middle of the first scan to the end of its only scan. */
export function halfOverwritten(jpeg: Buffer, byte = 0): Buffer {
  const copy = Buffer.from(jpeg)
  return copy.fill(byte, (segmentAt(jpeg, 0xda) + jpeg.length) >> 1, jpeg.length - 2)
}

/** A copy in which all scans have this spectral selection. */
export function withSpectralSelection(jpeg: Buffer, selection: readonly [number, number, number]): Buffer {
  const copy = Buffer.from(jpeg)
  for (let at = segmentAt(copy, 0xda); at >= 0; at = copy.indexOf(Buffer.from([0xff, 0xda]), at + 2))
    copy.set(selection, at + 5 + 2 * copy[at + 4]!)
  return copy
}

/** A baseline JPEG in YCbCr whose three components have one scan each, which sharp does not write. */
export async function separateScans(width: number, height: number): Promise<Buffer> {
  const greys = await Promise.all(
    ['red', 'green', 'blue'].map((channel) =>
      draw(width, height)
        .extractChannel(channel as 'red')
        .jpeg({ optimiseCoding: false })
        .toBuffer(),
    ),
  )
  const first = greys[0] as Buffer
  const frame = segmentAt(first, 0xc0)
  const size = first.subarray(frame + 4, frame + 9)
  // Each component: its number, sampling 1 x 1, the quantisation table 0.
  const components = [3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]
  const scans = greys.map((grey, index) =>
    Buffer.concat([
      segmentOf(0xda, Buffer.from([1, index + 1, 0, 0, 63, 0])),
      grey.subarray(segmentAt(grey, 0xda) + 10, -2),
    ]),
  )
  return Buffer.concat([
    first.subarray(0, frame),
    segmentOf(0xc0, Buffer.concat([size, Buffer.from(components)])),
    first.subarray(frame + 13, segmentAt(first, 0xda)),
    ...scans,
    first.subarray(-2),
  ])
}

export interface SeveralPictures {
  /** The first picture alone, without the segments that mention the second. */
  readonly plain: Buffer
  readonly bytes: Buffer
  /** Where the second picture begins. */
  readonly secondAt: number
}

/** A multi-picture file: an Ultra HDR JPEG, whose second picture is a gain map, or an MPO without such metadata. */
export async function severalPictures(
  plain: Buffer,
  { width, height, kind }: { width: number; height: number; kind: 'mpo' | 'ultra-hdr' },
): Promise<SeveralPictures> {
  const grey = await draw(width, height).greyscale().jpeg().toBuffer()
  const second = kind === 'mpo' ? grey : insert(grey, 2, xmp(gainMapAttributes))
  const container = kind === 'mpo' ? Buffer.alloc(0) : xmp(containerOf(second.length))
  const index = multiPictureIndex(0, 0, 0)
  const secondAt = plain.length + container.length + index.length
  // Offsets count from the byte order mark of the index, 8 bytes after its marker.
  const filled = multiPictureIndex(secondAt, second.length, secondAt - (2 + container.length + 8))
  const first = insert(plain, 2, Buffer.concat([container, filled]))
  return { plain, bytes: Buffer.concat([first, second]), secondAt }
}

/** The APP2 segment that lists two pictures. */
function multiPictureIndex(firstBytes: number, secondBytes: number, secondOffset: number): Buffer {
  const field = (tag: number, type: number, count: number, value: number): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt16BE(tag, 0)
    bytes.writeUInt16BE(type, 2)
    bytes.writeUInt32BE(count, 4)
    bytes.writeUInt32BE(value, 8)
    return bytes
  }
  const picture = (attribute: number, bytes: number, offset: number): Buffer => {
    const entry = Buffer.alloc(16)
    entry.writeUInt32BE(attribute, 0)
    entry.writeUInt32BE(bytes, 4)
    entry.writeUInt32BE(offset, 8)
    return entry
  }
  const version = field(0xb000, 7, 4, Buffer.from('0100').readUInt32BE())
  return segmentOf(
    0xe2,
    Buffer.concat([
      Buffer.from('MPF\0MM\0*\0\0\0\x08\0\x03', 'latin1'),
      version,
      field(0xb001, 4, 1, 2),
      field(0xb002, 7, 32, 50),
      Buffer.alloc(4),
      picture(0x030000, firstBytes, 0),
      picture(0, secondBytes, secondOffset),
    ]),
  )
}

function xmp(description: string): Buffer {
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${description}</rdf:RDF>`
  const packet = `<x:xmpmeta xmlns:x="adobe:ns:meta/">${rdf}</x:xmpmeta>`
  return segmentOf(0xe1, Buffer.from(`http://ns.adobe.com/xap/1.0/\0${packet}`))
}

const gainMapName = 'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"'

const gainMapAttributes =
  `<rdf:Description ${gainMapName} hdrgm:GainMapMin="0" hdrgm:GainMapMax="2" hdrgm:Gamma="1" ` +
  'hdrgm:OffsetSDR="0.015625" hdrgm:OffsetHDR="0.015625" hdrgm:HDRCapacityMin="0" hdrgm:HDRCapacityMax="2" ' +
  'hdrgm:BaseRenditionIsHDR="False"/>'

function containerOf(gainMapBytes: number): string {
  const item = (semantic: string, length = ''): string =>
    '<rdf:li rdf:parseType="Resource">' +
    `<Container:Item Item:Semantic="${semantic}" Item:Mime="image/jpeg"${length}/></rdf:li>`
  return (
    `<rdf:Description ${gainMapName} xmlns:Container="http://ns.google.com/photos/1.0/container/" ` +
    'xmlns:Item="http://ns.google.com/photos/1.0/container/item/"><Container:Directory><rdf:Seq>' +
    item('Primary') +
    item('GainMap', ` Item:Length="${gainMapBytes}"`) +
    '</rdf:Seq></Container:Directory></rdf:Description>'
  )
}
