/** Coded data that are missing, or of which zeros have taken the place, make an image unusable, whatever its coding. */
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { draw, insert, noise, segmentAt, segmentOf, separateScans } from '../../test/harness/jpeg.js'
import { ServiceError } from '../contract/index.js'
import { normaliseImage } from './index.js'
import { measuringJpeg } from './jpeg-measure.js'

const endOfImage = Buffer.from([0xff, 0xd9])

async function outcomeOf(bytes: Uint8Array): Promise<string> {
  return normaliseImage(bytes).then(
    () => 'accepted',
    (error: unknown) => (error instanceof ServiceError ? error.kind : String(error)),
  )
}

describe.each([
  ['a drawing', draw],
  ['noise', noise],
])('%s', (_, picture) => {
  describe.each([60, 85, 95])('of quality %i', (quality) => {
    test.each([
      ['4:4:4', true],
      ['4:4:4', false],
      ['4:2:0', true],
      ['4:2:0', false],
    ])('in %s, with tables of its own: %s', async (chromaSubsampling, optimiseCoding) => {
      const intact = await picture(620, 460).jpeg({ quality, chromaSubsampling, optimiseCoding }).toBuffer()
      const start = segmentAt(intact, 0xda)
      const end = intact.length - 2
      const middle = (start + end) >> 1
      const zeros = (from: number, to: number): Buffer => Buffer.from(intact).fill(0, from, to)
      const data = intact.subarray(0, end)
      const variants = {
        intact,
        padded: insert(intact, end, Buffer.alloc(5000)),
        'with half a scan of zeros': zeros(middle, end),
        'with zeros before that half': zeros(start + 200, middle),
        'with a sector of zeros': zeros(middle, middle + 4096),
        'without its last bytes': data.subarray(0, -40),
      }
      const outcomes = await Promise.all(Object.values(variants).map(outcomeOf))
      expect(Object.fromEntries(Object.keys(variants).map((name, index) => [name, outcomes[index]]))).toEqual(
        {
          intact: 'accepted',
          padded: 'accepted',
          'with half a scan of zeros': 'bad_request',
          'with zeros before that half': 'bad_request',
          'with a sector of zeros': 'bad_request',
          'without its last bytes': 'bad_request',
        },
      )
    })
  })
})

test.each([
  ['white', 800, 600],
  ['black', 801, 599],
  ['grey', 40, 3000],
])('a blank image in %s, whose coded data are zeros, is accepted', async (background, width, height) => {
  const blank = sharp({ create: { width, height, channels: 3, background } })
  for (const image of [blank, blank.clone().greyscale()]) {
    const bytes = await image.jpeg({ quality: 90 }).toBuffer()
    expect(bytes.includes(Buffer.alloc(16), segmentAt(bytes, 0xda))).toBe(true)
    expect(measuringJpeg(bytes)).not.toBeNull()
    expect(await outcomeOf(bytes)).toBe('accepted')
    expect(await outcomeOf(Buffer.concat([bytes.subarray(0, -20), endOfImage]))).toBe('bad_request')
  }
})

test('is not measured: progressive, several scans, restart intervals, too many units, no image', async () => {
  const intact = await draw(64, 48).jpeg().toBuffer()
  expect(measuringJpeg(intact)).not.toBeNull()
  const large = draw(2100, 2100).jpeg({ quality: 20, chromaSubsampling: '4:4:4' }).toBuffer()
  const others = [
    await draw(64, 48).jpeg({ progressive: true }).toBuffer(),
    await separateScans(64, 48),
    insert(intact, segmentAt(intact, 0xda), segmentOf(0xdd, Uint8Array.of(0, 4))),
    await large,
    intact.subarray(0, 30),
    new Uint8Array(),
  ]
  expect(others.map(measuringJpeg)).toEqual(others.map(() => null))
})

describe('the units of an image, of which a copy for measuring has two rows more', () => {
  /** Markers of a baseline JPEG with these factors of its components, and a byte of coded data. */
  const jpeg = (width: number, height: number, ...factors: readonly number[]): Buffer =>
    Buffer.concat([
      Buffer.from([0xff, 0xd8, 0xff, 0xc0, 0, 8 + 3 * factors.length, 8]),
      Buffer.from([height >> 8, height & 255, width >> 8, width & 255, factors.length]),
      ...factors.map((factor, index) => Buffer.from([index + 1, factor, 0])),
      Buffer.from([0xff, 0xda, 0, 6 + 2 * factors.length, factors.length]),
      ...factors.map((_, index) => Buffer.from([index + 1, 0])),
      Buffer.from([0, 63, 0, 1]),
      endOfImage,
    ])

  /** Height and units in a restart interval of the copy. */
  function measured(bytes: Uint8Array): { height: number; units: number } | null {
    const copy = measuringJpeg(bytes)
    if (copy === null) return null
    const view = Buffer.from(copy)
    return {
      height: view.readUInt16BE(segmentAt(view, 0xc0) + 5),
      units: view.readUInt16BE(segmentAt(view, 0xdd) + 4),
    }
  }

  test.each([
    ['one component', [0x22], 13 * 13, 113],
    ['4:4:4', [0x11, 0x11, 0x11], 13 * 13, 113],
    ['4:2:2', [0x21, 0x11, 0x11], 7 * 13, 113],
    ['4:4:0', [0x12, 0x11, 0x11], 13 * 7, 129],
    ['4:2:0', [0x22, 0x11, 0x11], 7 * 7, 129],
    ['4:1:1', [0x41, 0x11, 0x11], 4 * 13, 113],
  ])('%s', (_, factors, units, height) => {
    expect(measured(jpeg(100, 100, ...factors))).toEqual({ height, units })
  })

  test('are counted up to 65,535, and up to 4 MiB of zeros', () => {
    expect(measured(jpeg(255 * 8, 257 * 8, 0x11))).toEqual({ height: 258 * 8 + 1, units: 65_535 })
    expect(measured(jpeg(256 * 8, 256 * 8, 0x11))).toBeNull()
    expect(measured(jpeg(2048 * 16, 8, 0x21, 0x11, 0x11))?.units).toBe(2048)
    expect(measured(jpeg(2048 * 16 + 1, 8, 0x21, 0x11, 0x11))).toBeNull()
  })
})
