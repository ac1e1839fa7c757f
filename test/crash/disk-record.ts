/**
 * What a disk may hold after a power cut: read from the record of the writes to a file (native/record_writes.cc).
 *
 * At a point of the record, a write is durable if a sync that began after it has ended by then, or if it is itself a sync
 * and has ended. The disk may have kept any of the others completely, in part or not at all, in any order.
 */
import type { Random } from '../harness/rng.js'

const headBytes = 24
const kinds = {
  write: 1,
  syncedWrite: 2,
  truncate: 3,
  syncBegin: 4,
  syncEnd: 5,
  msync: 6,
  acknowledgement: 7,
} as const

/** One entry of the record. The test driver adds acknowledgements, each with a number. */
export interface Entry {
  readonly kind: keyof typeof kinds
  /** Of a write its place, of `truncate` the new length, of a sync or an acknowledgement its number. */
  readonly offset: number
  readonly bytes: Uint8Array
}

const kindNames = new Map<number, keyof typeof kinds>(
  Object.entries(kinds).map(([name, code]) => [code, name as keyof typeof kinds]),
)

/** An entry that the test driver appends when it has received a response. */
export function acknowledgementEntry(number: number): Uint8Array {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(kinds.acknowledgement, 0)
  head.writeBigUInt64LE(BigInt(number), 8)
  return head
}

/** Reads a complete record; throws if it is malformed. */
export function readRecord(record: Buffer): Entry[] {
  const entries: Entry[] = []
  for (let at = 0; at < record.length;) {
    const kind = kindNames.get(record.readUInt32LE(at))
    const offset = Number(record.readBigUInt64LE(at + 8))
    const end = at + headBytes + Number(record.readBigUInt64LE(at + 16))
    if (kind === undefined || end > record.length) throw new Error(`the record of writes is broken at ${at}`)
    entries.push({ kind, offset, bytes: record.subarray(at + headBytes, end) })
    at = end
  }
  return entries
}

/** Which of the writes that are not durable the disk kept. */
export const survivals = ['none', 'all', 'prefix', 'writes', 'pages', 'sectors'] as const
export type Survival = (typeof survivals)[number]

const pageBytes = 4096
const sectorBytes = 512

/** The file as it grows along the record. */
export class Disk {
  readonly #certain = new FileImage()
  /** In order; those before the begin of a sync become durable when it ends. */
  #open: Entry[] = []
  /** Entries that were open when a sync began. */
  readonly #syncs = new Map<number, Set<Entry>>()

  apply(entry: Entry): void {
    switch (entry.kind) {
      case 'write':
      case 'truncate':
        this.#open.push(entry)
        return
      case 'syncedWrite': {
        // It is durable, but earlier writes are not: they must not overwrite it later.
        const before = new Set(this.#open.filter((earlier) => overlaps(earlier, entry)))
        this.#settle(before)
        this.#certain.apply(entry)
        return
      }
      case 'syncBegin':
        this.#syncs.set(entry.offset, new Set(this.#open))
        return
      case 'syncEnd':
        this.#settle(this.#syncs.get(entry.offset) ?? new Set())
        this.#syncs.delete(entry.offset)
        return
      case 'msync':
        throw new Error('the file is written through mapped memory, which the record does not contain')
      case 'acknowledgement':
    }
  }

  /** Writes that are not durable now. */
  get openCount(): number {
    return this.#open.length
  }

  /** The file that a power cut may leave. */
  after(survival: Survival, random: Random): Uint8Array {
    const image = this.#certain.copy()
    const keptCount = random.below(this.#open.length + 1)
    this.#open.forEach((entry, index) => {
      if (survival === 'all' || (survival === 'prefix' && index < keptCount)) image.apply(entry)
      else if (survival === 'prefix' && index === keptCount) tear(image, entry, sectorBytes, random, true)
      else if (survival === 'writes' && random.chance(0.5)) image.apply(entry)
      else if (survival === 'pages') tear(image, entry, pageBytes, random, false)
      else if (survival === 'sectors') tear(image, entry, sectorBytes, random, false)
    })
    return image.bytes()
  }

  #settle(entries: ReadonlySet<Entry>): void {
    for (const entry of this.#open) if (entries.has(entry)) this.#certain.apply(entry)
    this.#open = this.#open.filter((entry) => !entries.has(entry))
  }
}

function overlaps(a: Entry, b: Entry): boolean {
  return a.kind === 'write' && a.offset < b.offset + b.bytes.length && b.offset < a.offset + a.bytes.length
}

/** Applies some of the blocks of a write: its first ones, or any. */
function tear(image: FileImage, entry: Entry, block: number, random: Random, firstOnes: boolean): void {
  if (entry.kind === 'truncate') {
    if (random.chance(0.5)) image.apply(entry)
    return
  }
  const { offset, bytes } = entry
  const stop = firstOnes ? offset + random.below(bytes.length + 1) : Infinity
  for (let start = offset; start < offset + bytes.length;) {
    const end = Math.min((Math.floor(start / block) + 1) * block, offset + bytes.length)
    const kept = firstOnes ? end <= stop : random.chance(0.5)
    if (kept)
      image.apply({ kind: 'write', offset: start, bytes: bytes.subarray(start - offset, end - offset) })
    start = end
  }
}

/** Bytes that grow as a file does. */
class FileImage {
  #bytes = new Uint8Array(1024 * 1024)
  #length = 0

  apply({ kind, offset, bytes }: Entry): void {
    const end = kind === 'truncate' ? offset : offset + bytes.length
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(2 * end)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    if (kind === 'truncate') {
      this.#bytes.fill(0, Math.min(end, this.#length), this.#length)
      this.#length = end
    } else {
      this.#bytes.set(bytes, offset)
      this.#length = Math.max(this.#length, end)
    }
  }

  copy(): FileImage {
    const copy = new FileImage()
    copy.#bytes = this.#bytes.slice()
    copy.#length = this.#length
    return copy
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }
}
