/**
 * JPEG pictures for uploads. A few are drawn and encoded once; each upload is one of them with a comment segment
 * of its own, so that every upload has bytes of its own and costs no encoding.
 */
import sharp from 'sharp'
import { imageEdgePixelsMax } from '../contract/index.js'
import { Rng } from './rng.js'

/** Pictures that a book holds. */
export const pictureCount = 24
const largeCount = 8

/** Which picture an upload shows, and what tells it from all others. */
export interface PictureChoice {
  /** 0 to `pictureCount` - 1. */
  readonly picture: number
  readonly comment: string
}

/** Base pictures, encoded. Deterministic: the same release of sharp gives the same bytes. */
export class PictureBook {
  private constructor(private readonly jpegs: readonly Buffer[]) {}

  /** Draws and encodes the base pictures; takes about a second. */
  static async draw(): Promise<PictureBook> {
    const jpegs: Buffer[] = []
    for (let picture = 0; picture < pictureCount; picture++) jpegs.push(await drawPicture(picture))
    return new PictureBook(jpegs)
  }

  /** The bytes of one upload: a decodable JPEG. */
  jpeg(choice: PictureChoice): Buffer {
    const base = this.jpegs[choice.picture]
    if (base === undefined) throw new Error(`no picture ${choice.picture}`)
    return withComment(base, choice.comment)
  }
}

/**
 * Puts a comment segment right behind the start marker:
 *
 *     FF D8 | FF FE | length (2 bytes, big-endian, itself included) | comment | the rest
 */
export function withComment(jpeg: Buffer, comment: string): Buffer {
  const text = Buffer.from(comment)
  const head = Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, 0])
  head.writeUInt16BE(text.length + 2, 4)
  return Buffer.concat([head, text, jpeg.subarray(2)])
}

function drawPicture(picture: number): Promise<Buffer> {
  const rng = new Rng('picture', picture)
  const { width, height } = sizeOf(rng, picture)
  const shapes = Array.from({ length: rng.int(8, 30) }, () => shape(rng, width, height)).join('')
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<rect width="100%" height="100%" fill="${colour(rng)}"/>${shapes}</svg>`
  return sharp(Buffer.from(svg))
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: rng.int(60, 88), progressive: rng.chance(0.2) })
    .toBuffer()
}

function sizeOf(rng: Rng, picture: number): { width: number; height: number } {
  const long = picture < largeCount ? imageEdgePixelsMax : rng.int(160, 800)
  const short = Math.round(long * rng.pick([0.5625, 0.75, 1, 0.66]))
  return rng.chance(0.4) ? { width: short, height: long } : { width: long, height: short }
}

function shape(rng: Rng, width: number, height: number): string {
  const x = rng.int(0, width)
  const y = rng.int(0, height)
  const size = rng.int(10, Math.round(width / 2))
  const paint = `fill="${colour(rng)}" fill-opacity="0.${rng.int(3, 9)}"`
  if (rng.chance(0.4)) return `<circle cx="${x}" cy="${y}" r="${Math.round(size / 2)}" ${paint}/>`
  if (rng.chance(0.5))
    return `<rect x="${x}" y="${y}" width="${size}" height="${rng.int(8, size)}" ${paint}/>`
  return `<path d="M${x} ${y} q${size} ${-size} ${size} ${size} t${-size} ${rng.int(5, size)} z" ${paint}/>`
}

function colour(rng: Rng): string {
  return `rgb(${rng.int(0, 255)},${rng.int(0, 255)},${rng.int(0, 255)})`
}
