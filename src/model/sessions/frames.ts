/**
 * Messages between a child process and its owner, as frames on a stream socket:
 *
 *   bytes of the header, uint32 | bytes of the payload, uint32 | header | payload      (little-endian)
 *
 * The header is a JSON object. Spaces pad it to a multiple of 8 bytes, so that typed arrays can be views of the payload.
 */
import { readSync, writeSync } from 'node:fs'

const prefixBytes = 8
const alignmentBytes = 8
/** Far beyond any batch: a larger length is not a length. */
const partBytesMax = 2 ** 30

/** A message that was received. */
export interface Frame {
  readonly header: object
  /** Begins at a multiple of 8 bytes of its buffer. */
  readonly payload: Uint8Array
}

/** A message to be sent. Its payload is written right into the bytes that go out. */
export interface Message {
  readonly header: object
  readonly payloadBytes: number
  /** Must write every byte of `payload`: the memory is reused. */
  readonly write: (payload: Uint8Array) => void
}

export function withoutPayload(header: object): Message {
  return { header, payloadBytes: 0, write: () => undefined }
}

/** Lays out messages in memory that it reuses. */
export class FrameWriter {
  #memory = Buffer.alloc(0)

  /** Valid until the next call. Throws a RangeError when there is no memory for it. */
  frame({ header, payloadBytes, write }: Message): Buffer {
    const json = JSON.stringify(header)
    const jsonBytes = Buffer.byteLength(json)
    const headerBytes = Math.ceil(jsonBytes / alignmentBytes) * alignmentBytes
    if (Math.max(headerBytes, payloadBytes) > partBytesMax) {
      throw new RangeError(`a message of ${headerBytes + payloadBytes} bytes is too large`)
    }
    const payloadStart = prefixBytes + headerBytes
    const end = payloadStart + payloadBytes
    if (this.#memory.length < end) this.#memory = Buffer.allocUnsafeSlow(end)
    const frame = this.#memory.subarray(0, end)
    frame.writeUInt32LE(headerBytes, 0)
    frame.writeUInt32LE(payloadBytes, 4)
    frame.fill(' ', prefixBytes + jsonBytes, payloadStart)
    frame.write(json, prefixBytes)
    write(frame.subarray(payloadStart))
    return frame
  }
}

/** Puts frames together from the chunks of a stream. */
export class FrameReader {
  readonly #prefix = Buffer.alloc(prefixBytes)
  #prefixRead = 0
  /** Header and payload, once the prefix is complete. */
  #body: Buffer | null = null
  #bodyRead = 0

  /** The frames that `chunk` completes. Throws when the bytes are not frames. */
  take(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    for (let at = 0; at < chunk.length;) {
      if (this.#body === null) {
        const count = chunk.copy(this.#prefix, this.#prefixRead, at)
        this.#prefixRead += count
        at += count
        if (this.#prefixRead < prefixBytes) break
        this.#body = Buffer.allocUnsafeSlow(bodyBytes(this.#prefix, chunk))
        this.#bodyRead = 0
      }
      const count = chunk.copy(this.#body, this.#bodyRead, at)
      this.#bodyRead += count
      at += count
      if (this.#bodyRead < this.#body.length) continue
      frames.push(parse(this.#prefix, this.#body))
      this.#body = null
      this.#prefixRead = 0
    }
    return frames
  }
}

/** Frames of a descriptor, for a process that has nothing to do but wait for the next one. */
export class BlockingFrames {
  readonly #descriptor: number
  readonly #writer = new FrameWriter()
  readonly #prefix = Buffer.alloc(prefixBytes)
  #memory = Buffer.alloc(0)

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Waits for the next frame, which is valid until the one after it. null: the other side has closed its end. */
  next(): Frame | null {
    if (!this.#fill(this.#prefix)) return null
    const bytes = bodyBytes(this.#prefix, this.#prefix)
    if (this.#memory.length < bytes) this.#memory = Buffer.allocUnsafeSlow(bytes)
    const body = this.#memory.subarray(0, bytes)
    return this.#fill(body) ? parse(this.#prefix, body) : null
  }

  write(message: Message): void {
    const frame = this.#writer.frame(message)
    for (let at = 0; at < frame.length;) at += writeSync(this.#descriptor, frame, at)
  }

  #fill(target: Buffer): boolean {
    for (let at = 0; at < target.length;) {
      const count = readSync(this.#descriptor, target, at, target.length - at, null)
      if (count === 0) return false
      at += count
    }
    return true
  }
}

/** Length of header and payload. `read`: what to quote when the prefix is not one. */
function bodyBytes(prefix: Buffer, read: Buffer): number {
  const [headerBytes, payloadBytes] = [prefix.readUInt32LE(0), prefix.readUInt32LE(4)]
  if (Math.max(headerBytes, payloadBytes) > partBytesMax || headerBytes % alignmentBytes !== 0) {
    throw new Error(`${JSON.stringify(read.toString('latin1', 0, 40))} does not begin a message`)
  }
  return headerBytes + payloadBytes
}

function parse(prefix: Buffer, body: Buffer): Frame {
  const headerBytes = prefix.readUInt32LE(0)
  return {
    header: JSON.parse(body.toString('utf8', 0, headerBytes)) as object,
    payload: body.subarray(headerBytes),
  }
}
