/**
 * Images for uploads: valid JPEGs, each with different bytes, the same every time they are drawn.
 */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { imageBytesMax, imageEdgePixelsMax } from '../contract/index.js'
import { Pictures, baseImageCount, withComment } from './pictures.js'

test('every image decodes and is within the limits, and some have the maximum size', async () => {
  const pictures = await Pictures.draw()
  const edges: number[] = []
  for (let picture = 0; picture < baseImageCount; picture++) {
    const jpeg = pictures.jpeg({ picture, comment: `고양이/${picture}` })
    expect(jpeg.length).toBeLessThan(imageBytesMax)
    const { info } = await sharp(jpeg, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true })
    edges.push(Math.max(info.width, info.height))
  }
  expect(Math.max(...edges)).toBe(imageEdgePixelsMax)
  expect(Math.min(...edges)).toBeLessThan(imageEdgePixelsMax)
})

test('a comment changes the bytes of an image and not its pixels', async () => {
  const pictures = await Pictures.draw()
  const one = pictures.jpeg({ picture: 0, comment: 'one' })
  const other = pictures.jpeg({ picture: 0, comment: 'other' })
  expect(one.equals(other)).toBe(false)
  const [onePixels, otherPixels] = await Promise.all([one, other].map((jpeg) => sharp(jpeg).raw().toBuffer()))
  expect(onePixels?.equals(otherPixels as Buffer)).toBe(true)
})

test('images drawn again have the same bytes', async () => {
  const [one, other] = await Promise.all([Pictures.draw(), Pictures.draw()])
  for (let picture = 0; picture < baseImageCount; picture++) {
    const choice = { picture, comment: '' }
    expect(one.jpeg(choice).equals(other.jpeg(choice))).toBe(true)
  }
})

test('a comment segment is placed between the start marker and the rest', () => {
  const jpeg = withComment(Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 'ab')
  expect([...jpeg]).toEqual([0xff, 0xd8, 0xff, 0xfe, 0, 4, 0x61, 0x62, 0xff, 0xd9])
})

test('an unknown image is an error', async () => {
  const pictures = await Pictures.draw()
  expect(() => pictures.jpeg({ picture: baseImageCount, comment: '' })).toThrow(
    `no picture ${baseImageCount}`,
  )
})
