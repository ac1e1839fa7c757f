/**
 * Which images are accepted, and what is stored of them. The JPEGs here come from an encoder and are mutated by hand.
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { draw, insert, segmentAt } from '../../test/harness/jpeg.js'
import { ServiceError, type ErrorKind } from '../contract/index.js'
import { normaliseImage } from './index.js'
import { serviceErrorOf } from './intake.js'

let small: Buffer
let large: Buffer

beforeAll(async () => {
  small = await draw(64, 48).jpeg().toBuffer()
  large = await draw(2000, 1500).jpeg().toBuffer()
})

async function refusal(bytes: Uint8Array): Promise<ErrorKind> {
  return normaliseImage(bytes).then(
    () => expect.fail('the image was accepted'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ServiceError)
      return (error as ServiceError).kind
    },
  )
}

/** A copy whose frame header declares another size. */
function declare(bytes: Buffer, width: number, height: number): Buffer {
  const copy = Buffer.from(bytes)
  const frame = segmentAt(copy, 0xc0, 0xc2)
  copy.writeUInt16BE(height, frame + 5)
  copy.writeUInt16BE(width, frame + 7)
  return copy
}

/** A JFIF segment of revision 2.1, which libjpeg does not know. */
const laterJfif = [0xff, 0xe0, 0, 16, ...Buffer.from('JFIF\0'), 2, 1, 0, 0, 1, 0, 1, 0, 0]

/** An Adobe segment with a colour transform: 0 for none, 1 for YCbCr, 2 for YCCK. */
function adobe(transform: number): number[] {
  return [0xff, 0xee, 0, 14, ...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, transform]
}

/** The small image without the second half of its scan, but with its end marker. */
function truncated(): Buffer {
  const scan = segmentAt(small, 0xda)
  return Buffer.concat([small.subarray(0, (scan + small.length) >> 1), Buffer.from([0xff, 0xd9])])
}

describe('an accepted image', () => {
  test('is identified by the SHA-256 and the length of the uploaded bytes', async () => {
    const { sha256, uploadedBytes } = await normaliseImage(small)
    expect(Buffer.from(sha256)).toEqual(createHash('sha256').update(small).digest())
    expect(uploadedBytes).toBe(small.length)
  })

  test('gives the same normalised bytes every time', async () => {
    expect((await normaliseImage(large)).normalised).toEqual((await normaliseImage(large)).normalised)
  })

  test.each([
    { from: [2000, 1500], to: [1024, 768] },
    { from: [700, 3000], to: [239, 1024] },
    { from: [1025, 10], to: [1024, 10] },
    { from: [1024, 768], to: [1024, 768] },
    { from: [64, 48], to: [64, 48] },
    { from: [1, 1], to: [1, 1] },
    { from: [4000, 1], to: [1024, 1] },
  ] as const)('of $from pixels is stored with $to: at most 1024, never enlarged', async ({ from, to }) => {
    const image = await normaliseImage(await draw(from[0], from[1]).jpeg().toBuffer())
    expect([image.width, image.height]).toEqual(from)
    const { format, width, height } = await sharp(image.normalised).metadata()
    expect([format, width, height]).toEqual(['jpeg', ...to])
  })

  test('has its orientation applied, in its size and in its copy', async () => {
    const upload = await draw(320, 240).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    const image = await normaliseImage(upload)
    expect([image.width, image.height]).toEqual([240, 320])
    const copy = await sharp(image.normalised).metadata()
    expect([copy.width, copy.height, copy.orientation]).toEqual([240, 320, undefined])
    // Orientation 6 is displayed rotated clockwise by 90 degrees: the left edge is at the top.
    const { data, info } = await sharp(image.normalised).raw().toBuffer({ resolveWithObject: true })
    const redAt = (y: number) => data[(y * info.width + 120) * info.channels]!
    expect(redAt(10)).toBeLessThan(60)
    expect(redAt(310)).toBeGreaterThan(190)
  })

  test('is stored in quality 90, on which the vectors of every encoder depend', async () => {
    const copy = Buffer.from((await normaliseImage(large)).normalised)
    const table = segmentAt(copy, 0xdb) + 5
    // The standard's table begins 16, 11, 12, 14, 12, 10, 16, 14, in zigzag order; quality 90 divides it by 5.
    expect([...copy.subarray(table, table + 8)]).toEqual([3, 2, 2, 3, 2, 2, 3, 3])
  })

  test('keeps no metadata in its copy', async () => {
    const exif = { IFD0: { Copyright: 'someone' }, IFD3: { GPSLatitude: '37/1 33/1 0/1' } }
    const upload = await draw(100, 80).jpeg().withExif(exif).withIccProfile('p3').toBuffer()
    const { normalised } = await normaliseImage(upload)
    const { exif: copied, icc, xmp, iptc } = await sharp(normalised).metadata()
    expect([copied, icc, xmp, iptc]).toEqual([undefined, undefined, undefined, undefined])
  })

  test.each([
    ['CMYK', () => draw(200, 150).toColourspace('cmyk').jpeg(), 3],
    ['grey', () => draw(200, 150).greyscale().jpeg(), undefined],
    ['progressive', () => draw(200, 150).jpeg({ progressive: true }), 3],
    ['without subsampling', () => draw(200, 150).jpeg({ chromaSubsampling: '4:4:4' }), 3],
  ] as const)('may be %s; its copy is sRGB or grey', async (_, make, channels) => {
    const { normalised } = await normaliseImage(await make().toBuffer())
    const copy = await sharp(normalised).metadata()
    expect(['srgb', 'b-w']).toContain(copy.space)
    if (channels !== undefined) expect(copy.channels).toBe(channels)
  })

  test.each([
    ['a comment', () => insert(small, 2, [0xff, 0xfe, 0, 4, 65, 66])],
    ['fill bytes between segments', () => insert(small, segmentAt(small, 0xc0), [0xff, 0xff])],
    ['zeros between segments', () => insert(small, segmentAt(small, 0xc0), [0, 0, 0])],
    ['a later JFIF revision', () => insert(small, 2, laterJfif)],
    ['EXIF that cannot be read', () => insert(small, 2, [0xff, 0xe1, 0, 12, ...Buffer.from('Exif\0\0huh?')])],
    ['an unknown Adobe transform', () => insert(small, 2, adobe(3))],
    ['zeros before its end', () => insert(small, small.length - 2, [0, 0, 0])],
    ['bytes after its end', () => Buffer.concat([small, Buffer.alloc(100, 7)])],
  ])('may have %s', async (_, mutate) => {
    await expect(normaliseImage(mutate())).resolves.toMatchObject({ width: 64, height: 48 })
  })
})

test.each([
  ['zeros between segments', () => insert(small, segmentAt(small, 0xc0), [0, 0, 0])],
  ['a later JFIF revision', () => insert(small, 2, laterJfif)],
  ['an unknown Adobe transform', () => insert(small, 2, adobe(3))],
])('%s does not change the copy', async (_, mutate) => {
  const [plain, mutated] = await Promise.all([small, mutate()].map((bytes) => normaliseImage(bytes)))
  expect(mutated?.normalised).toEqual(plain?.normalised)
})

test('harmless warnings are distinguished from others while several images are decoded', async () => {
  const padded = insert(small, small.length - 2, [0, 0, 0])
  const cut = insert(truncated(), 2, laterJfif)
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) => normaliseImage(i % 2 === 0 ? padded : cut)),
  )
  expect(results.map(({ status }) => status)).toEqual(
    results.map((_, i) => (i % 2 === 0 ? 'fulfilled' : 'rejected')),
  )
})

describe('a body that is not a JPEG is an unsupported media type', () => {
  test.each([
    ['a PNG', () => draw(80, 60).png().toBuffer()],
    ['a WebP', () => draw(80, 60).webp().toBuffer()],
    ['a GIF', () => draw(80, 60).gif().toBuffer()],
    ['SVG', () => Promise.resolve(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
    ['text', () => Promise.resolve(Buffer.from('hello'))],
    ['one byte', () => Promise.resolve(Buffer.from([0xff]))],
    ['half a signature', () => Promise.resolve(Buffer.from([0xff, 0xd8]))],
  ])('%s', async (_, make) => {
    expect(await refusal(await make())).toBe('unsupported_media_type')
  })
})

describe('a body that starts like a JPEG but does not decode completely is a bad request', () => {
  const endOfImage = Buffer.from([0xff, 0xd9])
  test.each([
    ['nothing at all', () => Buffer.alloc(0)],
    ['a signature', () => Buffer.from([0xff, 0xd8, 0xff])],
    [
      'a signature and noise',
      () => Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(3000, 65)]),
    ],
    ['one truncated in its header', () => small.subarray(0, 100)],
    ['one truncated in the middle', () => large.subarray(0, large.length >> 1)],
    ['one without the last bytes of its picture', () => large.subarray(0, -20)],
    [
      'one truncated in the middle, with an end marker',
      () => Buffer.concat([large.subarray(0, large.length >> 1), endOfImage]),
    ],
    ['one with an end marker in the middle', () => insert(large, large.length >> 1, [0xff, 0xd9])],
    [
      'a truncated one after zeros between segments',
      () => insert(truncated(), segmentAt(small, 0xc0), [0, 0]),
    ],
    ['a truncated one of a later JFIF revision', () => insert(truncated(), 2, laterJfif)],
    ['a truncated one with an unknown Adobe transform', () => insert(truncated(), 2, adobe(3))],
    ['one that declares more rows than it has', () => declare(small, 64, 4000)],
    ['one that declares no size', () => declare(small, 0, 0)],
    ['one that declares no height', () => declare(small, 64, 0)],
    [
      'one without quantisation tables',
      () => {
        let bytes = small
        for (let at = bytes.indexOf('\xff\xdb', 'latin1'); at >= 0; at = bytes.indexOf('\xff\xdb', 'latin1'))
          bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 2 + bytes.readUInt16BE(at + 2))])
        return bytes
      },
    ],
  ])('%s', async (_, mutate) => {
    expect(await refusal(mutate())).toBe('bad_request')
  })
})

describe('size', () => {
  test.each([
    [8500, 6000],
    [65_000, 65_000],
    [65_500, 764],
    [65_535, 65_535],
    [763, 65_535],
  ])('%i x %i is refused as too large from its header alone', async (width, height) => {
    expect(await refusal(declare(small, width, height))).toBe('too_large')
  })

  test('exactly 50,000,000 pixels are not too large, and one row more is', async () => {
    // The header is as declared, so the image then does not decode.
    expect(await refusal(declare(small, 10_000, 5000))).toBe('bad_request')
    expect(await refusal(declare(small, 10_000, 5001))).toBe('too_large')
  })

  test.each([
    [10_000, 5001],
    [763, 65_535],
  ])('the refusal of %i x %i names them in this order', (width, height) =>
    expect(normaliseImage(declare(small, width, height))).rejects.toThrow(`${width} x ${height}`),
  )

  test('49 megapixels are accepted', async () => {
    const upload = await sharp({ create: { width: 7000, height: 7000, channels: 3, background: '#346' } })
      .jpeg()
      .toBuffer()
    await expect(normaliseImage(upload)).resolves.toMatchObject({ width: 7000, height: 7000 })
  })
})

test('a decode that times out is not reported as an error of the image', () => {
  expect(serviceErrorOf(new Error('timeout: 42% complete'))).toMatchObject({
    kind: 'unavailable',
    status: 503,
  })
  const hidden =
    'VipsJpeg: Warning: unknown JFIF revision number 2.01\nVipsJpeg: Unsupported marker type 0xfc'
  // The reason is the defect, not what is harmless before it.
  expect(serviceErrorOf(new Error(hidden)).message).toContain(': Unsupported marker type 0xfc')
  expect(serviceErrorOf(new Error('VipsJpeg: timeout: of another kind'))).toMatchObject({
    kind: 'bad_request',
  })
})

test('any mutated JPEG is normalised or refused with a ServiceError', async () => {
  const sources = await Promise.all([
    draw(40, 30).jpeg().toBuffer(),
    draw(40, 30).jpeg({ progressive: true }).toBuffer(),
    draw(40, 30).toColourspace('cmyk').jpeg().withMetadata({ orientation: 8 }).toBuffer(),
  ])
  const edit = fc.record({ at: fc.nat(), remove: fc.nat(4), add: fc.uint8Array({ maxLength: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...sources), fc.array(edit, { maxLength: 6 }), async (source, edits) => {
      let bytes = source
      for (const { at, remove, add } of edits) {
        const offset = at % bytes.length
        bytes = Buffer.concat([bytes.subarray(0, offset), add, bytes.subarray(offset + remove)])
      }
      try {
        const { normalised, width, height } = await normaliseImage(bytes)
        const copy = await sharp(normalised).metadata()
        expect(Math.max(copy.width, copy.height)).toBe(Math.min(1024, Math.max(width, height)))
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError)
        expect(['bad_request', 'unsupported_media_type', 'too_large']).toContain((error as ServiceError).kind)
      }
    }),
    { numRuns: 300 },
  )
})
