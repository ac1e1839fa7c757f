/**
 * Messages between a child process and its parent. The header of a message is one line of JSON on a socket. Its payload
 * is at the start of a file that both have open, since the buffer of a socket holds only a part of a batch. The two
 * take turns, so each payload is read before the next one is written.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, statfsSync, unlinkSync, writeSync, writevSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileSizeProblem, gibibyte, kibibyte, mebibyte } from '../../base/index.js'

/** Far beyond any batch: a larger number is not a length. */
const bytesMax = gibibyte
/**
 * Headers are small, except for the ports of graphs and the lengths of a batch of texts: 600 kB for all texts of the largest
 * body.
 */
const lineBytesMax = 4 * mebibyte

/** A message that was received. */
export interface Message {
  readonly header: object
  /** Parts of the payload; the first begins at a multiple of 8 bytes of its buffer. */
  readonly parts: readonly Uint8Array[]
}

export interface OutgoingMessage {
  readonly header: object
  readonly parts: readonly NodeJS.ArrayBufferView[]
}

/** The parent's side of a kind of requests, such as the batches of a role. */
export interface OwnerFormat<Request, Reply> {
  /** What the header of a reply states. */
  readonly replyKind: 'ready' | 'done'
  /** Names the request in the error of a time limit, such as `a batch of 5 rows`. */
  describe(request: Request): string
  encodeRequest(request: Request): OutgoingMessage
  /** The values may be views of the payload. */
  decodeReply(message: Message): Reply
}

/** The child's side; its requests are views of memory that the next batch overwrites. */
export interface ChildFormat<Request, Reply> {
  decodeRequest(message: Message): Request
  encodeReply(reply: Reply): OutgoingMessage
}

/** The file of payloads. It has no name, so the system deletes it when both processes have closed it. */
export class PayloadFile {
  readonly descriptor: number

  /** Creates a file unless it gets a descriptor. Throws the error of the system when it cannot. */
  constructor(descriptor = openUnnamedFile()) {
    this.descriptor = descriptor
  }

  /** Throws when the disk is full. */
  write(parts: readonly NodeJS.ArrayBufferView[]): void {
    const bytes = sum(lengthsOf(parts))
    if (bytes > 0 && writevSync(this.descriptor, parts, 0) < bytes)
      throw new Error(fileSizeProblem(bytes) ?? `there is no space for ${bytes} bytes`)
  }

  /** The parts at the start of the file. Throws when it ends before them, or when these are not lengths. */
  read(
    lengths: readonly number[],
    allocate: (bytes: number) => Buffer = (bytes) => Buffer.allocUnsafeSlow(bytes),
  ): Uint8Array[] {
    const isList: boolean = Array.isArray(lengths)
    const isValid =
      isList && lengths.every((length) => Number.isInteger(length) && length >= 0) && sum(lengths) <= bytesMax
    if (!isValid) throw new RangeError(`${JSON.stringify(lengths)} are not lengths`)
    const payload = allocate(sum(lengths))
    for (let at = 0; at < payload.length;) {
      const count = readSync(this.descriptor, payload, at, payload.length - at, at)
      if (count === 0) throw new Error(`the file of payloads ends after ${at} of ${payload.length} bytes`)
      at += count
    }
    let at = 0
    return lengths.map((length) => payload.subarray(at, (at += length)))
  }

  close(): void {
    closeSync(this.descriptor)
  }
}

/** A header, and the bytes of each part of the payload. */
export interface Header {
  readonly lengths: readonly number[]
}

/** The line of a header. */
export function lineOf({ header, parts }: OutgoingMessage): string {
  return `${JSON.stringify({ ...header, lengths: lengthsOf(parts) })}\n`
}

function lengthsOf(parts: readonly NodeJS.ArrayBufferView[]): number[] {
  return parts.map(({ byteLength }) => byteLength)
}

function sum(lengths: readonly number[]): number {
  return lengths.reduce((total, length) => total + length, 0)
}

/** Reads headers from the chunks of a stream. */
export class LineReader {
  /** The parts of a line that has not ended. They are joined once, at its end: the time is linear in its length. */
  #parts: Buffer[] = []
  #partBytes = 0

  /** The headers that `chunk` completes. Throws when the bytes are not lines of JSON objects. */
  take(chunk: Buffer): Header[] {
    const end = chunk.lastIndexOf('\n') + 1
    if (end === 0) {
      this.#keep(chunk)
      return []
    }
    const lines = Buffer.concat([...this.#parts, chunk.subarray(0, end)]).toString()
    this.#parts = []
    this.#partBytes = 0
    this.#keep(chunk.subarray(end))
    return lines.split('\n').slice(0, -1).map(parseHeader)
  }

  /** Copies it: the caller may reuse the memory. */
  #keep(part: Buffer): void {
    if (part.length === 0) return
    this.#partBytes += part.length
    this.#parts.push(Buffer.from(part))
    if (this.#partBytes > lineBytesMax) throw invalidMessage(String(this.#parts[0]?.toString('utf8', 0, 80)))
  }
}

/** The messages of a child, which waits for the next one in a blocking read, as it has nothing else to do. */
export class ChildMessages {
  readonly #socket: number
  readonly #payloads: PayloadFile
  readonly #reader = new LineReader()
  readonly #chunk = Buffer.alloc(64 * kibibyte)
  #memory = Buffer.alloc(0)

  constructor(socketDescriptor: number, payloadDescriptor: number) {
    this.#socket = socketDescriptor
    this.#payloads = new PayloadFile(payloadDescriptor)
  }

  /** Waits for the next message; its parts are valid until the one after it. null: the parent has closed its end. */
  next(): Message | null {
    for (;;) {
      const count = readSync(this.#socket, this.#chunk)
      if (count === 0) return null
      const [header] = this.#reader.take(this.#chunk.subarray(0, count))
      if (header === undefined) continue
      return { header, parts: this.#payloads.read(header.lengths, (bytes) => this.#allocate(bytes)) }
    }
  }

  write(message: OutgoingMessage): void {
    this.#payloads.write(message.parts)
    const line = Buffer.from(lineOf(message))
    for (let at = 0; at < line.length;) at += writeSync(this.#socket, line, at)
  }

  /** Memory that the next message overwrites. */
  #allocate(bytes: number): Buffer {
    if (this.#memory.length < bytes) this.#memory = Buffer.allocUnsafeSlow(bytes)
    return this.#memory.subarray(0, bytes)
  }
}

function parseHeader(line: string): Header {
  try {
    const header = JSON.parse(line) as Header | null
    if (typeof header === 'object' && header !== null) return header
  } catch {
    // Reported below.
  }
  throw invalidMessage(line)
}

function invalidMessage(text: string): Error {
  return new Error(`${JSON.stringify(text.slice(0, 40))} is not a message`)
}

const memoryDirectory = '/dev/shm'
/** Containers have 64 MiB by default, and a batch with long embeddings has more than 10. */
const memoryBytesMin = 256 * mebibyte

/** The file is in memory if there is enough of it and this user may write there; only this user may read it. */
function openUnnamedFile(): number {
  try {
    const { bavail, bsize } = statfsSync(memoryDirectory)
    if (bavail * bsize >= memoryBytesMin) return openUnnamedFileIn(memoryDirectory)
  } catch {
    // It does not exist, or a sandbox makes it read-only.
  }
  return openUnnamedFileIn(tmpdir())
}

function openUnnamedFileIn(directory: string): number {
  const path = join(directory, `understudy-${randomUUID()}`)
  const descriptor = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return descriptor
}
