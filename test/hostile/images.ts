/**
 * Valid JPEGs, made by sharp; JPEGs whose headers are false; and polyglots, which are also files of another format.
 */
import sharp from 'sharp'
import { imageBytesMax } from '../../src/contract/limits.js'
import { insert, segmentOf } from '../harness/jpeg.js'

/** Bytes that must not be in a normalised image. */
export const payload = '<script>alert("understudy-payload")</script><?php system($_GET[0]); ?>'

/** Valid JPEGs of many kinds, with texture, for mutation. */
export async function validImages(): Promise<Buffer[]> {
  const width = 160
  const height = 120
  const pixels = Buffer.from(
    Array.from({ length: width * height * 3 }, (_, at) => (at * 31 + ((at * at) >> 7)) % 256),
  )
  const image = (): ReturnType<typeof sharp> => sharp(pixels, { raw: { width, height, channels: 3 } })
  return Promise.all([
    image().jpeg({ quality: 80 }).toBuffer(),
    image().jpeg({ quality: 60, progressive: true }).toBuffer(),
    image().jpeg({ quality: 90, chromaSubsampling: '4:4:4' }).toBuffer(),
    image().greyscale().jpeg().toBuffer(),
    image().toColourspace('cmyk').jpeg().toBuffer(),
    image().jpeg().withMetadata({ orientation: 6 }).toBuffer(),
    image().withIccProfile('p3').jpeg().toBuffer(),
    image().jpeg({ mozjpeg: true }).toBuffer(),
    image()
      .withExif({ IFD0: { ImageDescription: 'x'.repeat(300), Copyright: 'y' } })
      .jpeg()
      .toBuffer(),
    image().toColourspace('cmyk').withIccProfile('cmyk').jpeg({ progressive: true }).toBuffer(),
    image().resize(1600, 1200).jpeg({ quality: 70, progressive: true, optimiseScans: true }).toBuffer(),
  ])
}

export interface DeceptiveImage {
  readonly name: string
  readonly bytes: Buffer
  readonly allowed: readonly number[]
}

/** Images with false headers, and polyglots. */
export async function deceptiveImages(): Promise<DeceptiveImage[]> {
  const [plain, progressive] = (await validImages()) as [Buffer, Buffer]
  const sized = (width: number, height: number, source = plain): Buffer => {
    const bytes = Buffer.from(source)
    const at = frameAt(bytes)
    bytes.writeUInt16BE(height, at + 5)
    bytes.writeUInt16BE(width, at + 7)
    return bytes
  }
  const segment = (marker: number, content: string): Buffer => insert(plain, 2, segmentOf(marker, content))
  return [
    { name: '65,535 pixels square', bytes: sized(65_535, 65_535), allowed: [400, 413] },
    {
      name: '65,535 pixels square, progressive',
      bytes: sized(65_535, 65_535, progressive),
      allowed: [400, 413],
    },
    { name: '65,000 pixels square', bytes: sized(65_000, 65_000), allowed: [413] },
    { name: '7,000 pixels square without their data', bytes: sized(7000, 7000), allowed: [400] },
    { name: '7,000 pixels square, progressive', bytes: sized(7000, 7000, progressive), allowed: [400] },
    { name: 'no height', bytes: sized(160, 0), allowed: [400] },
    { name: 'no width', bytes: sized(0, 120), allowed: [400] },
    { name: 'one pixel', bytes: sized(1, 1), allowed: [201, 400] },
    { name: 'only a signature', bytes: Buffer.from([0xff, 0xd8, 0xff]), allowed: [400] },
    { name: 'a head without an image', bytes: plain.subarray(0, frameAt(plain)), allowed: [400] },
    { name: 'cut in the middle', bytes: plain.subarray(0, plain.length >> 1), allowed: [400] },
    { name: '500 scans', bytes: manyScans(progressive), allowed: [201, 400, 503] },
    { name: 'a script in a comment', bytes: segment(0xfe, payload), allowed: [201] },
    { name: 'a script in EXIF', bytes: segment(0xe1, `Exif\0\0${payload}`), allowed: [201, 400] },
    {
      name: 'a page after the image',
      bytes: Buffer.concat([plain, Buffer.from(payload)]),
      allowed: [201],
    },
    {
      name: 'an archive after the image',
      bytes: Buffer.concat([plain, Buffer.from('PK\x03\x04'), Buffer.alloc(500)]),
      allowed: [201],
    },
    {
      name: 'GIF with the suffix of a JPEG',
      bytes: Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;'),
      allowed: [415],
    },
    { name: 'SVG', bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), allowed: [415] },
    {
      name: 'a signature before PNG',
      bytes: Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), await sharp(plain).png().toBuffer()]),
      allowed: [400],
    },
  ]
}

/** Images of a great many segments, or of bytes that look like them, up to the largest upload. */
export async function segmentedImages(): Promise<DeceptiveImage[]> {
  const plain = (await validImages())[0]!
  // A revision of JFIF that libjpeg does not know: a warning that does not concern the pixels, so the service looks for its cause.
  const laterJfif = Buffer.from('\xff\xe0\0\x10JFIF\0\x02\x01\0\0\x01\0\x01\0\0', 'latin1')
  const filled = (unit: readonly number[], bytes: number): Buffer => {
    const count = Math.floor((bytes - plain.length - laterJfif.length) / unit.length)
    const units = Buffer.alloc(count * unit.length, Uint8Array.from(unit))
    return Buffer.concat([plain.subarray(0, 2), laterJfif, units, plain.subarray(2)])
  }
  const empty = [0xff, 0xe5, 0, 2]
  const kinds: readonly (readonly [name: string, unit: readonly number[]])[] = [
    ['empty segments', empty],
    ['segments with zeros between them', [...empty, 0]],
    ['zeros', [0]],
    ['stuffed bytes', [0xff, 0]],
    ['fill bytes', [0xff]],
    ['restart markers', [0xff, 0xd0]],
    ['starts of scans', [0xff, 0xda, 0, 2]],
    ['starts of images', [0xff, 0xd8]],
  ]
  const allowed = [201, 400]
  return [
    { name: '30,000 empty segments', bytes: filled(empty, 30_000 * empty.length), allowed },
    ...kinds.map(([name, unit]) => ({
      name: `5 MiB of ${name}`,
      bytes: filled(unit, imageBytesMax),
      allowed,
    })),
  ]
}

/** Offset of the frame header, SOF0 or SOF2. */
export function frameAt(jpeg: Buffer): number {
  for (let at = 2; at + 4 <= jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg[at + 1]
    if (marker === 0xc0 || marker === 0xc2) return at
  }
  throw new Error('no frame')
}

/** A progressive image with 500 copies of its last scan. */
function manyScans(jpeg: Buffer): Buffer {
  const lastScan = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]))
  const scan = jpeg.subarray(lastScan, jpeg.length - 2)
  return Buffer.concat([jpeg.subarray(0, lastScan), ...Array<Buffer>(500).fill(scan), jpeg.subarray(-2)])
}
