/**
 * Pictures for uploads: real JPEGs, each with bytes of its own, the same whenever they are drawn.
 */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { imageBytesMax, imageEdgePixelsMax } from '../contract/index.js'
import { PictureBook, pictureCount, withComment } from './pictures.js'

test('every picture decodes and keeps within the limits, and some are as large as they may be', async () => {
  const book = await PictureBook.draw()
  const edges: number[] = []
  for (let picture = 0; picture < pictureCount; picture++) {
    const jpeg = book.jpeg({ picture, comment: `고양이/${picture}` })
    expect(jpeg.length).toBeLessThan(imageBytesMax)
    const { info } = await sharp(jpeg, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true })
    edges.push(Math.max(info.width, info.height))
  }
  expect(Math.max(...edges)).toBe(imageEdgePixelsMax)
  expect(Math.min(...edges)).toBeLessThan(imageEdgePixelsMax)
})

test('a comment changes the bytes of a picture and not what it shows', async () => {
  const book = await PictureBook.draw()
  const one = book.jpeg({ picture: 0, comment: 'one' })
  const other = book.jpeg({ picture: 0, comment: 'other' })
  expect(one.equals(other)).toBe(false)
  const [onePixels, otherPixels] = await Promise.all([one, other].map((jpeg) => sharp(jpeg).raw().toBuffer()))
  expect(onePixels?.equals(otherPixels as Buffer)).toBe(true)
})

test('a book drawn again has the same bytes', async () => {
  const [one, other] = await Promise.all([PictureBook.draw(), PictureBook.draw()])
  for (let picture = 0; picture < pictureCount; picture++) {
    const choice = { picture, comment: '' }
    expect(one.jpeg(choice).equals(other.jpeg(choice))).toBe(true)
  }
})

test('a comment segment stands between the start marker and the rest', () => {
  const jpeg = withComment(Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 'ab')
  expect([...jpeg]).toEqual([0xff, 0xd8, 0xff, 0xfe, 0, 4, 0x61, 0x62, 0xff, 0xd9])
})

test('a picture that the book does not hold is an error', async () => {
  const book = await PictureBook.draw()
  expect(() => book.jpeg({ picture: pictureCount, comment: '' })).toThrow(`no picture ${pictureCount}`)
})
