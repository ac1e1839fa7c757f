/**
 * Distinct JPEGs of 1024 pixels and about 200 kB.
 */
import sharp from 'sharp'
import { Rng } from '../src/simulator/rng.js'

const edgePixels = 1024
const shortEdgePixels = 768
const bytesTarget = 200_000

/** Makes distinct JPEGs: each has a different comment segment after the start marker. */
export async function jpegSource(): Promise<(number: number) => Buffer> {
  const base = await drawImage()
  return (number) => {
    const comment = Buffer.from(`bench ${number}`)
    const head = Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, 0])
    head.writeUInt16BE(comment.length + 2, 4)
    return Buffer.concat([head, comment, base.subarray(2)])
  }
}

/** An image with the statistics of a photograph: smooth colours with noise, in the quality that gives the size. */
async function drawImage(): Promise<Buffer> {
  const rng = new Rng('bench picture')
  const pixels = Buffer.alloc(edgePixels * shortEdgePixels * 3)
  for (let at = 0; at < pixels.length; at++) {
    const x = Math.floor(at / 3) % edgePixels
    const y = Math.floor(at / 3 / edgePixels)
    const smooth = 128 + 60 * Math.sin(x / 90 + (at % 3)) + 40 * Math.cos(y / 70)
    pixels[at] = Math.max(0, Math.min(255, smooth + rng.int(-14, 14)))
  }
  const encode = (quality: number): Promise<Buffer> =>
    sharp(pixels, { raw: { width: edgePixels, height: shortEdgePixels, channels: 3 } })
      .jpeg({ quality })
      .toBuffer()
  let best = await encode(60)
  for (const quality of [70, 76, 80, 84, 88, 91]) {
    const jpeg = await encode(quality)
    if (Math.abs(jpeg.length - bytesTarget) < Math.abs(best.length - bytesTarget)) best = jpeg
  }
  return best
}
