/**
 * Images for uploads: valid JPEGs, each with different bytes, the same every time they are drawn.
 */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { imageBytesMax, imageEdgePixelsMax } from '../contract/index.js'
import { BaseImages, baseImageCount, withComment } from './base-images.js'

test('every image decodes and is within the limits, and some have the maximum size', async () => {
  const baseImages = await BaseImages.draw()
  const edges: number[] = []
  for (let baseImage = 0; baseImage < baseImageCount; baseImage++) {
    const jpeg = baseImages.jpeg({ baseImage, comment: `고양이/${baseImage}` })
    expect(jpeg.length).toBeLessThan(imageBytesMax)
    const { info } = await sharp(jpeg, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true })
    edges.push(Math.max(info.width, info.height))
  }
  expect(Math.max(...edges)).toBe(imageEdgePixelsMax)
  expect(Math.min(...edges)).toBeLessThan(imageEdgePixelsMax)
})

test('a comment changes the bytes of an image and not its pixels', async () => {
  const baseImages = await BaseImages.draw()
  const one = baseImages.jpeg({ baseImage: 0, comment: 'one' })
  const other = baseImages.jpeg({ baseImage: 0, comment: 'other' })
  expect(one.equals(other)).toBe(false)
  const [onePixels, otherPixels] = await Promise.all([one, other].map((jpeg) => sharp(jpeg).raw().toBuffer()))
  expect(onePixels?.equals(otherPixels as Buffer)).toBe(true)
})

test('images drawn again have the same bytes', async () => {
  const [one, other] = await Promise.all([BaseImages.draw(), BaseImages.draw()])
  for (let baseImage = 0; baseImage < baseImageCount; baseImage++) {
    const choice = { baseImage, comment: '' }
    expect(one.jpeg(choice).equals(other.jpeg(choice))).toBe(true)
  }
})

test('a comment segment is placed between the start marker and the rest', () => {
  const jpeg = withComment(Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 'ab')
  expect([...jpeg]).toEqual([0xff, 0xd8, 0xff, 0xfe, 0, 4, 0x61, 0x62, 0xff, 0xd9])
})

test('an unknown image is an error', async () => {
  const baseImages = await BaseImages.draw()
  expect(() => baseImages.jpeg({ baseImage: baseImageCount, comment: '' })).toThrow(
    `no base image ${baseImageCount}`,
  )
})
