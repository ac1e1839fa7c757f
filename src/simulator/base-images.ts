/**
 * JPEG images for uploads. A few images are drawn and encoded once; each upload is one of them with a comment segment
 * of its own, so every upload has different bytes and needs no encoding.
 */
import sharp from 'sharp'
import { assert, imageEdgePixelsMax } from '../contract/index.js'
import { Rng } from './rng.js'

export const baseImageCount = 24
const largeCount = 8

/** One upload. A repeated upload has the same bytes. */
export interface Upload {
  readonly gallId: string
  readonly postNo: number
  readonly position: number
  /** The base image, 0 to `baseImageCount` - 1. */
  readonly baseImage: number
  /** Makes the bytes unique. */
  readonly comment: string
}

/** Encoded base images. Deterministic: the same release of sharp gives the same bytes. */
export class BaseImages {
  private constructor(private readonly jpegs: readonly Buffer[]) {}

  /** Draws and encodes the base images; takes about a second. */
  static async draw(): Promise<BaseImages> {
    return new BaseImages(
      await Promise.all(Array.from({ length: baseImageCount }, (_, index) => drawBaseImage(index))),
    )
  }

  /** The bytes of one upload: a valid JPEG. */
  jpeg(choice: Pick<Upload, 'baseImage' | 'comment'>): Buffer {
    const base = this.jpegs[choice.baseImage]
    assert(base !== undefined, `no base image ${choice.baseImage}`)
    return withComment(base, choice.comment)
  }
}

/**
 * Inserts a comment segment after the start marker:
 *
 *     FF D8 | FF FE | length (2 bytes, big-endian, itself included) | comment | the rest
 */
export function withComment(jpeg: Buffer, comment: string): Buffer {
  const text = Buffer.from(comment)
  const head = Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, 0])
  head.writeUInt16BE(text.length + 2, 4)
  return Buffer.concat([head, text, jpeg.subarray(2)])
}

function drawBaseImage(baseImage: number): Promise<Buffer> {
  const rng = new Rng('picture', baseImage)
  const long = baseImage < largeCount ? imageEdgePixelsMax : rng.int(160, 800)
  const short = Math.round(long * rng.pick([0.5625, 0.75, 1, 0.66]))
  const [width, height] = rng.chance(0.4) ? [short, long] : [long, short]
  const circles = Array.from(
    { length: rng.int(8, 30) },
    () =>
      `<circle cx="${rng.int(0, width)}" cy="${rng.int(0, height)}" r="${rng.int(5, Math.round(width / 4))}" ` +
      `fill="${colour(rng)}" fill-opacity="0.${rng.int(3, 9)}"/>`,
  )
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<rect width="100%" height="100%" fill="${colour(rng)}"/>${circles.join('')}</svg>`
  return sharp(Buffer.from(svg))
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: rng.int(60, 88), progressive: rng.chance(0.2) })
    .toBuffer()
}

function colour(rng: Rng): string {
  return `rgb(${rng.int(0, 255)},${rng.int(0, 255)},${rng.int(0, 255)})`
}
