/** Coded data that are missing, or of which zeros have taken the place, make an image unusable, whatever its coding. */
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { draw, insert, noise, segmentAt, segmentOf, separateScans } from '../../test/helpers/jpeg.js'
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
