/**
 * Messages between a child process and its owner, as frames on a pipe:
 *
 *   bytes of the body, uint32 | 0: structured clone, 1: JSON; uint32 | body           (little-endian)
 *
 * Structured clone takes typed arrays. JSON is for small messages: structured clone takes a tenth of a millisecond there
 * and back for the smallest one, and a batch of heads takes half of one.
 */
import { readSync, writeSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'

export type FrameFormat = 'clone' | 'json'

const formats: readonly FrameFormat[] = ['clone', 'json']
const headBytes = 8
/** Far beyond any batch: a length above it is no length. */
const bodyBytesMax = 2 ** 30
/** Of a read. */
const pieceBytes = 64 * 1024

export interface Frame {
  readonly value: unknown
  readonly format: FrameFormat
}

/** In one piece: a pipe then hands over a small one at once. Throws for a value that is too large. */
export function frameOf(value: unknown, format: FrameFormat): Buffer {
  const body = format === 'clone' ? serialize(value) : Buffer.from(JSON.stringify(value))
  if (body.length > bodyBytesMax) throw new Error(`a message of ${body.length} bytes is too large`)
  const head = Buffer.allocUnsafe(headBytes)
  head.writeUInt32LE(body.length, 0)
  head.writeUInt32LE(formats.indexOf(format), 4)
  return Buffer.concat([head, body])
}

/** Puts frames together from the pieces in which a pipe hands them over. */
export class FrameReader {
  #pieces: Buffer[] = []
  #bytes = 0

  /** The frames that `piece` completes. Throws when the other side does not speak in frames. */
  take(piece: Buffer): Frame[] {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    const frames: Frame[] = []
    while (this.#bytes >= headBytes) {
      if ((this.#pieces[0] as Buffer).length < headBytes) this.#join()
      const { end, format } = readHead(this.#pieces[0] as Buffer)
      if (this.#bytes < end) break
      this.#join()
      const [all] = this.#pieces as [Buffer]
      const body = all.subarray(headBytes, end)
      frames.push({ format, value: format === 'clone' ? deserialize(body) : JSON.parse(body.toString()) })
      this.#pieces = [all.subarray(end)]
      this.#bytes -= end
    }
    return frames
  }

  #join(): void {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)]
  }
}

function readHead(bytes: Buffer): { readonly end: number; readonly format: FrameFormat } {
  const bodyBytes = bytes.readUInt32LE(0)
  const format = formats[bytes.readUInt32LE(4)]
  if (bodyBytes > bodyBytesMax || format === undefined) {
    throw new Error(`${JSON.stringify(bytes.toString('latin1', 0, 40))} begins no message`)
  }
  return { end: headBytes + bodyBytes, format }
}

/** Frames of a descriptor, for a process that has nothing else to do than to wait for the next one. */
export class BlockingFrames {
  readonly #descriptor: number
  readonly #reader = new FrameReader()
  readonly #space = Buffer.alloc(pieceBytes)
  #ready: Frame[] = []

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Waits for it. null: the other side has closed its end. */
  next(): Frame | null {
    while (this.#ready.length === 0) {
      const count = readSync(this.#descriptor, this.#space)
      if (count === 0) return null
      this.#ready = this.#reader.take(Buffer.from(this.#space.subarray(0, count)))
    }
    return this.#ready.shift() ?? null
  }

  write(value: unknown, format: FrameFormat): void {
    const frame = frameOf(value, format)
    for (let at = 0; at < frame.length;) at += writeSync(this.#descriptor, frame, at)
  }
}
