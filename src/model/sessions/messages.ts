/**
 * Messages between a child process and its owner. The header of a message is one line of JSON on a socket. Its payload
 * lies at the start of a file that both have open, since the buffer of a socket holds only a part of a batch. The two
 * take turns, so each payload is read before the next one is written.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, statfsSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Far beyond any batch: a larger number is not a length. */
const payloadBytesMax = 2 ** 30
/** Headers are small, except for a report and the lengths of a batch of texts. */
const lineBytesMax = 2 ** 24

/** A message that was received. */
export interface Message {
  readonly header: object
  /** Begins at a multiple of 8 bytes of its buffer. */
  readonly payload: Uint8Array
}

/** A message to be sent. */
export interface OutgoingMessage {
  readonly header: object
  readonly payloadBytes: number
  /** Must write every byte of `payload`: the memory is reused. */
  readonly write: (payload: Uint8Array) => void
}

/** The owner's side of the batches of a role. */
export interface OwnerFormat<Request, Reply> {
  encodeRequest(request: Request): OutgoingMessage
  /** The values may be views of the payload. */
  decodeReply(message: Message): Reply
}

/** The child's side; its requests are views of memory that the next batch overwrites. */
export interface ChildFormat<Request, Reply> {
  decodeRequest(message: Message): Request
  encodeReply(reply: Reply): OutgoingMessage
}

export function withoutPayload(header: object): OutgoingMessage {
  return { header, payloadBytes: 0, write: () => undefined }
}

/** The file of payloads. It has no name, so it is gone when both processes have closed it. */
export class PayloadFile {
  readonly descriptor: number
  #memory = Buffer.alloc(0)

  /** Without a descriptor, creates a file. Throws the error of the system when it cannot. */
  constructor(descriptor = openUnnamedFile()) {
    this.descriptor = descriptor
  }

  /** Throws a RangeError when there is no memory for it, and the error of the system when the disk is full. */
  write({ payloadBytes, write }: OutgoingMessage): void {
    if (payloadBytes > payloadBytesMax) throw new RangeError(`${payloadBytes} bytes are too many`)
    const payload = this.#reuse(payloadBytes)
    write(payload)
    for (let at = 0; at < payloadBytes;) at += writeSync(this.descriptor, payload, at, payloadBytes - at, at)
  }

  /** The first bytes of the file, in memory that the next call overwrites. Throws when there are fewer. */
  readReused(bytes: number): Uint8Array {
    return this.#fill(this.#reuse(bytes))
  }

  /** The first bytes of the file. Throws when there are fewer, or when `bytes` is not a length. */
  read(bytes: number): Uint8Array {
    if (!(bytes >= 0 && bytes <= payloadBytesMax)) throw new RangeError(`${bytes} is not a length`)
    return this.#fill(Buffer.allocUnsafeSlow(bytes))
  }

  close(): void {
    closeSync(this.descriptor)
  }

  #reuse(bytes: number): Buffer {
    if (this.#memory.length < bytes) this.#memory = Buffer.allocUnsafeSlow(bytes)
    return this.#memory.subarray(0, bytes)
  }

  #fill(target: Buffer): Buffer {
    for (let at = 0; at < target.length;) {
      const count = readSync(this.descriptor, target, at, target.length - at, at)
      if (count === 0) throw new Error(`the file of payloads ends after ${at} of ${target.length} bytes`)
      at += count
    }
    return target
  }
}

/** The line of a header, and the bytes of its payload. */
export function lineOf({ header, payloadBytes }: OutgoingMessage): string {
  return `${JSON.stringify({ ...header, payloadBytes })}\n`
}

/** Reads headers from the chunks of a stream. */
export class LineReader {
  #partial = Buffer.alloc(0)

  /** The headers that `chunk` completes. Throws when the bytes are not lines of JSON objects. */
  take(chunk: Buffer): (object & { readonly payloadBytes: number })[] {
    const bytes = Buffer.concat([this.#partial, chunk])
    const end = bytes.lastIndexOf('\n') + 1
    this.#partial = bytes.subarray(end)
    if (this.#partial.length > lineBytesMax) throw notAMessage(bytes.toString('utf8', 0, 80))
    return bytes.toString('utf8', 0, end).split('\n').slice(0, -1).map(parseHeader)
  }
}

/** The messages of a child, which waits for the next one in a blocking read, as it has nothing else to do. */
export class ChildMessages {
  readonly #socket: number
  readonly #payloads: PayloadFile
  readonly #reader = new LineReader()
  readonly #chunk = Buffer.alloc(64 * 1024)

  constructor(socketDescriptor: number, payloadDescriptor: number) {
    this.#socket = socketDescriptor
    this.#payloads = new PayloadFile(payloadDescriptor)
  }

  /** Waits for the next message; its payload is valid until the one after it. null: the owner has closed its end. */
  next(): Message | null {
    for (;;) {
      const count = readSync(this.#socket, this.#chunk)
      if (count === 0) return null
      const [header] = this.#reader.take(this.#chunk.subarray(0, count))
      if (header !== undefined) return { header, payload: this.#payloads.readReused(header.payloadBytes) }
    }
  }

  write(message: OutgoingMessage): void {
    this.#payloads.write(message)
    const line = Buffer.from(lineOf(message))
    for (let at = 0; at < line.length;) at += writeSync(this.#socket, line, at)
  }
}

function parseHeader(line: string): object & { payloadBytes: number } {
  try {
    const header = JSON.parse(line) as { payloadBytes: number } | null
    if (typeof header === 'object' && header !== null) return header
  } catch {
    // Reported below.
  }
  throw notAMessage(line)
}

function notAMessage(text: string): Error {
  return new Error(`${JSON.stringify(text.slice(0, 40))} is not a message`)
}

const memoryDirectory = '/dev/shm'
/** Containers have 64 MiB by default, and a batch with long embeddings has more than 10. */
const memoryBytesMin = 256 * 2 ** 20

/** In memory where there is enough of it, and readable for this user only. */
function openUnnamedFile(): number {
  const directory = hasFreeMemory() ? memoryDirectory : tmpdir()
  const path = join(directory, `understudy-${randomUUID()}`)
  const descriptor = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return descriptor
}

function hasFreeMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryDirectory)
    return bavail * bsize >= memoryBytesMin
  } catch {
    return false
  }
}
