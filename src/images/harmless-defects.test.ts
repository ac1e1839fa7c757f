/**
 * JPEGs with defects that change no pixel are accepted and give the copy of the intact image; no such defect hides damage.
 */
import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  draw,
  halfOverwritten,
  insert,
  noise,
  segmentAt,
  segmentOf,
  separateScans,
  severalPictures,
  withSpectralSelection,
} from '../../test/harness/jpeg.js'
import { imageSegmentsMax, ServiceError } from '../contract/index.js'
import { normaliseImage } from './index.js'
import { repairedJpeg } from './jpeg-repair.js'

const endOfImage = Buffer.from([0xff, 0xd9])
/** A JFIF segment of revision 2.1, about which libjpeg warns. */
const laterJfif = segmentOf(0xe0, Buffer.from('JFIF\0\x02\x01\0\0\x01\0\x01\0\0', 'latin1'))

async function copyOf(bytes: Uint8Array): Promise<string> {
  const { normalised } = await normaliseImage(bytes)
  return createHash('sha256').update(normalised).digest('hex')
}

async function refused(bytes: Uint8Array): Promise<void> {
  const outcome = await normaliseImage(bytes).then(
    () => 'accepted',
    (error: unknown) => (error instanceof ServiceError ? error.kind : String(error)),
  )
  expect(outcome).toBe('bad_request')
}

let small: Buffer
let large: Buffer
let drawn: Buffer
let separate: Buffer
let progressive: Buffer

beforeAll(async () => {
  small = await draw(64, 48).jpeg().toBuffer()
  large = await noise(700, 500).jpeg().toBuffer()
  drawn = await draw(1600, 1200).jpeg({ quality: 95 }).toBuffer()
  separate = await separateScans(90, 70)
  progressive = await draw(320, 240).jpeg({ progressive: true }).toBuffer()
  for (const jpeg of [large, drawn]) expect(jpeg.length).toBeGreaterThan(100_000)
})

describe('spectral selection that a sequential scan does not have', () => {
  test.each([
    ['a small image', () => small],
    ['a large image', () => large],
    ['a grey image', () => draw(50, 40).greyscale().jpeg().toBuffer()],
    ['a CMYK image', () => draw(50, 40).toColourspace('cmyk').jpeg().toBuffer()],
    ['an image with a scan for each component', () => separate],
  ])('changes nothing in %s', async (_, make) => {
    const intact = await make()
    for (const selection of [
      [0, 0, 0],
      [0, 63, 0x11],
      [1, 5, 0],
    ] as const) {
      const bytes = withSpectralSelection(intact, selection)
      const before = createHash('sha256').update(bytes).digest()
      expect(await copyOf(bytes)).toBe(await copyOf(intact))
      const { sha256, uploadedBytes } = await normaliseImage(bytes)
      expect(Buffer.from(sha256)).toEqual(before)
      expect(uploadedBytes).toBe(bytes.length)
    }
  })

  test('may occur with other harmless defects', async () => {
    const zero = withSpectralSelection(separate, [0, 0, 0])
    const padded = Buffer.concat([zero.subarray(0, -2), Buffer.alloc(500), endOfImage])
    expect(await copyOf(insert(padded, 2, laterJfif))).toBe(await copyOf(separate))
  })

  test.each([
    ['cut in the middle', (zero: Buffer) => zero.subarray(0, zero.length >> 1)],
    [
      'cut in the middle, with an end marker',
      (zero: Buffer) => Buffer.concat([zero.subarray(0, zero.length >> 1), endOfImage]),
    ],
    ['without the last bytes of its picture', (zero: Buffer) => zero.subarray(0, -12)],
    ['with half a scan of zeros', (zero: Buffer) => halfOverwritten(zero)],
    ['with a stray restart marker', (zero: Buffer) => insert(zero, zero.length >> 1, [0xff, 0xd3])],
    [
      'without quantisation tables',
      (zero: Buffer) => {
        const at = segmentAt(zero, 0xdb)
        return Buffer.concat([zero.subarray(0, at), zero.subarray(at + 2 + zero.readUInt16BE(at + 2))])
      },
    ],
  ])('does not hide that the image is %s', async (_, damage) => {
    for (const intact of [small, drawn, separate])
      await refused(damage(withSpectralSelection(intact, [0, 0, 0])))
  })

  test('of a progressive scan is damage', async () => {
    await refused(withSpectralSelection(progressive, [0, 0, 0]))
  })
})

/** Where the scans of a JPEG begin. */
function scansOf(jpeg: Buffer): number[] {
  const starts: number[] = []
  for (let at = 0; (at = jpeg.indexOf(Buffer.from([0xff, 0xda]), at)) >= 0; at += 2) starts.push(at)
  return starts
}

describe('a missing end marker', () => {
  test.each([
    ['without both of its bytes', (intact: Buffer) => intact.subarray(0, -2)],
    ['without its last byte', (intact: Buffer) => intact.subarray(0, -1)],
    ['as zeros', (intact: Buffer) => Buffer.concat([intact.subarray(0, -2), Buffer.alloc(2)])],
    [
      'after a later JFIF revision and wrong spectral selection',
      (intact: Buffer) =>
        insert(
          intact === progressive ? intact : withSpectralSelection(intact, [0, 0, 0]),
          2,
          laterJfif,
        ).subarray(0, -2),
    ],
  ])('changes nothing: %s', async (_, without) => {
    const others = [
      draw(50, 40).greyscale().jpeg(),
      draw(50, 40).toColourspace('cmyk').jpeg(),
      noise(90, 70).jpeg({ progressive: true, quality: 100 }),
    ]
    const images = await Promise.all(others.map((image) => image.toBuffer()))
    for (const intact of [small, large, separate, progressive, ...images.slice(0, 2)])
      expect(await copyOf(without(intact))).toBe(await copyOf(intact))
    expect(await copyOf(images[2]!.subarray(0, -2))).toBe(await copyOf(images[2]!))
  })

  test('of an image that was cut between two scans does not hide that', async () => {
    for (const jpeg of [separate, progressive])
      for (const start of scansOf(jpeg)) await refused(jpeg.subarray(0, start))
  })

  test('of an image that was cut anywhere before does not hide that', async () => {
    for (const jpeg of [small, separate, progressive])
      for (let length = 2; length < jpeg.length - 4; length += 1 + (jpeg.length >> 6))
        await refused(jpeg.subarray(0, length + 1))
  })
})

describe('padding at the end of a scan', () => {
  /** Pads the end of each scan; the next segment follows a scan directly in these images. */
  const padded = (jpeg: Buffer, padding: Uint8Array): Buffer => {
    let bytes = jpeg
    for (const start of scansOf(jpeg).reverse()) {
      let end = start + 2 + jpeg.readUInt16BE(start + 2)
      while (jpeg[end] !== 0xff || jpeg[end + 1] === 0) end++
      bytes = insert(bytes, end, padding)
    }
    return bytes
  }

  test.each([
    ['3 zeros', Buffer.alloc(3)],
    ['1,000 zeros', Buffer.alloc(1000)],
    ['50 equal bytes', Buffer.alloc(50, 0x55)],
    ['50 fill bytes', Buffer.alloc(50, 0xff)],
  ])('of %s changes nothing', async (_, padding) => {
    for (const intact of [small, large, separate, progressive])
      expect(await copyOf(padded(intact, padding))).toBe(await copyOf(intact))
  })

  test.each([
    [[7, 0, 0, 0], [7]],
    [
      [0xff, 0, 0, 0],
      [0xff, 0],
    ],
    [
      [7, 5, 5, 5],
      [7, 5, 5, 5],
    ],
    [[7, 5, 5, 5, 5], [7]],
    [
      [7, 0xff, 0xff],
      [7, 0xff, 0xff],
    ],
    [
      [7, 0, 0xff, 0xd1, 8, 0, 0],
      [7, 0xff, 0xd1, 8],
    ],
  ])('is removed, and nothing else: of %j remains %j', (coded, kept) => {
    const head = small.subarray(0, segmentAt(small, 0xda) + 14)
    const file = (data: readonly number[]): Buffer =>
      Buffer.concat([head, Uint8Array.from(data), endOfImage, Buffer.alloc(9, 1)])
    expect(repairedJpeg(file(coded), 'scans')).toEqual(
      Uint8Array.from(Buffer.concat([head, Uint8Array.from(kept), endOfImage])),
    )
  })

  test('of one scan does not hide that a later one is cut', async () => {
    const [, second, third] = scansOf(separate) as [number, number, number]
    const cut = Buffer.concat([separate.subarray(0, (second + third) >> 1), separate.subarray(third)])
    await refused(cut)
    await refused(insert(cut, second, Buffer.alloc(300)))
  })

  // Of a single scan libvips does not read what follows the last row, so such damage can stay unseen there: the bytes may code
  // the rest of the picture, as they do in noise.
  test.each([0, 0x55, 0xa5])('is not what replaces half a picture by bytes %i', async (byte) => {
    for (const quality of [80, 100])
      for (const chromaSubsampling of ['4:2:0', '4:4:4']) {
        const options = { quality, chromaSubsampling, progressive: true }
        await refused(halfOverwritten(await noise(640, 480).jpeg(options).toBuffer(), byte))
      }
    for (const jpeg of [separate, small, progressive]) await refused(halfOverwritten(jpeg, byte))
  })
})

describe.each(['mpo', 'ultra-hdr'] as const)('of several pictures in one file (%s)', (kind) => {
  test.each([
    [640, 480],
    [1600, 1200],
    [3000, 2000],
  ])('the first, of %i x %i, is the image', async (width, height) => {
    const plain = await draw(width, height).jpeg().toBuffer()
    const { bytes, secondAt } = await severalPictures(plain, { width: width / 2, height: height / 2, kind })
    expect(await copyOf(bytes)).toBe(await copyOf(plain))

    const scan = segmentAt(bytes, 0xda)
    const middle = (scan + secondAt) >> 1
    await refused(Buffer.from(bytes).fill(0, middle, secondAt - 2))
    await refused(insert(bytes, middle, [0xff, 0xd3]))
    await refused(bytes.subarray(0, middle))
    // Damage to the others does not concern the image.
    const second = Buffer.from(bytes).fill(0, (secondAt + bytes.length) >> 1)
    expect(await copyOf(second)).toBe(await copyOf(plain))
    expect(await copyOf(bytes.subarray(0, secondAt + 100))).toBe(await copyOf(plain))
    expect(await copyOf(bytes.subarray(0, secondAt))).toBe(await copyOf(plain))
  })

  test('the first may have an orientation and harmless defects', async () => {
    const plain = await draw(320, 240).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    const { bytes } = await severalPictures(plain, { width: 160, height: 120, kind })
    expect(await normaliseImage(bytes)).toMatchObject({ width: 240, height: 320 })
    expect(await copyOf(insert(withSpectralSelection(bytes, [0, 0, 0]), 2, laterJfif))).toBe(
      await copyOf(plain),
    )
  })
})

test('the images of this file are such that libvips has another loader for them', async () => {
  const plain = await draw(640, 480).jpeg().toBuffer()
  const { bytes } = await severalPictures(plain, { width: 320, height: 240, kind: 'ultra-hdr' })
  sharp.unblock({ operation: ['VipsForeignLoadUhdr'] })
  try {
    expect((await sharp(bytes).metadata()).gainMap).toBeDefined()
  } finally {
    sharp.block({ operation: ['VipsForeignLoadUhdr'] })
  }
})

describe('segments', () => {
  const empty = [0xff, 0xe5, 0, 2]
  const many = (count: number, segment: readonly number[] = empty): Buffer =>
    insert(small, 2, Buffer.alloc(count * segment.length, Uint8Array.from(segment)))

  test(`of an image may be ${imageSegmentsMax} before its first scan, fill bytes included`, async () => {
    const segmentCount = 5 + 4
    await expect(normaliseImage(many(imageSegmentsMax - segmentCount))).resolves.toMatchObject({ width: 64 })
    await expect(
      normaliseImage(insert(many(imageSegmentsMax - segmentCount), 2, laterJfif)),
    ).resolves.toBeDefined()
    await refused(many(imageSegmentsMax))
    await refused(
      insert(small, small.indexOf(Buffer.from([0xff, 0xdb])), Buffer.alloc(imageSegmentsMax, 0xff)),
    )
    await refused(insert(many(imageSegmentsMax), 2, laterJfif))
    // Zeros between them do not hide them.
    await refused(insert(insert(many(imageSegmentsMax), 2, empty), 6, [0, 0]))
  })

  /** CPU milliseconds, the least of several runs. */
  const msOf = (run: () => unknown): number =>
    Math.min(
      ...Array.from({ length: 7 }, () => {
        const before = process.cpuUsage()
        run()
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1000
      }),
    )

  test.each<[string, readonly number[]]>([
    ['empty segments', empty],
    ['segments with zeros between them', [...empty, 0]],
    ['zeros', [0]],
    ['stuffed bytes', [0xff, 0]],
    ['fill bytes', [0xff]],
    ['restart markers', [0xff, 0xd0]],
    ['starts of scans', [0xff, 0xda, 0, 2]],
    ['the start of another image', [0xff, 0xd8]],
    ['frames', [0xff, 0xc0, 0, 2]],
  ])('are repaired in time that grows with their bytes: %s', (_, unit) => {
    const bytes = (length: number): Buffer => insert(small, 2, Buffer.alloc(length, Uint8Array.from(unit)))
    for (const repair of ['segments', 'scans'] as const) {
      const [once, fourTimes] = [bytes(1_250_000), bytes(5_000_000)].map((jpeg) =>
        msOf(() => repairedJpeg(jpeg, repair)),
      ) as [number, number]
      // Quadratic: 16 times. The milliseconds are for what does not depend on the length.
      expect(fourTimes).toBeLessThan(8 * once + 4)
    }
  })
})
