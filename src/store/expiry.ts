/**
 * Records that have served their time, taken out a few at a time: what may go, others decide (src/cycle/retention.ts).
 * An id stays when its cycle goes, so that no cycle is ever processed twice.
 */
import type { Databases } from './databases.js'
import { cycleIdKey, imageKeyOf, imageNumbersOf, placementKeyOf } from './keys.js'
import type { RecordAccess } from './lmdb-model-records.js'
import * as records from './records.js'
import { viewOf } from './record.js'
import type { ExpiryRecords, ImageArrival, ImageKey, OutcomeEntry, Position, StoredCycle } from './store.js'

/** About what a removal writes: tree pages and the list of free pages. */
const removalBytes = 64 * 1024
const encoderKeyBytes = 16
/** Encoder, position, row: the key of a text's vector. */
const textKeyBytes = encoderKeyBytes + 8
const afterAll = 0xff

export class LmdbExpiry implements ExpiryRecords {
  readonly #db: Databases
  readonly #write: RecordAccess['write']

  constructor(databases: Databases, write: RecordAccess['write']) {
    this.#db = databases
    this.#write = write
  }

  isExpired(cycleId: string): boolean {
    const key = cycleIdKey(cycleId)
    const record = key && this.#db.cycleIds.getBinary(key)
    if (record === undefined) return false
    const position = records.readPosition(record)
    return position < this.firstPosition() && this.#db.cycles.getBinary(position) === undefined
  }

  firstPosition(): Position {
    return [...this.#db.cycles.getKeys({ limit: 1 })][0] ?? 1
  }

  oldestCycles(count: number): StoredCycle[] {
    return [...this.#db.cycles.getRange({ limit: count })].map(({ key, value }) => ({
      position: key,
      ...records.readHeader(value),
    }))
  }

  keptEntries(count: number): Position[] {
    return [...this.#db.requests.getKeys({ end: this.firstPosition(), limit: count })]
  }

  removeCycles(
    cycles: readonly { readonly position: Position; readonly keepEntry: boolean }[],
  ): Promise<void> {
    // A reader that was killed, a backup say, would keep every page that goes from now on.
    this.#db.root.readerCheck()
    return this.#write(removalBytes, () => {
      const encoders = this.#encoders()
      for (const { position, keepEntry } of cycles) {
        this.#db.cycles.removeSync(position)
        this.#db.responses.removeSync(position)
        this.#db.left.removeSync(position)
        this.#removeShadowScores(position)
        if (!keepEntry) this.#removeEntry(position, encoders)
      }
    })
  }

  removeEntries(positions: readonly Position[]): Promise<void> {
    return this.#write(removalBytes, () => {
      const encoders = this.#encoders()
      for (const position of positions) this.#removeEntry(position, encoders)
    })
  }

  imagesAfter(
    cursor: Uint8Array | null,
    count: number,
  ): { images: ImageArrival[]; cursor: Uint8Array | null } {
    // The first key after the last one in byte order.
    const start = cursor === null ? new Uint8Array([0]) : Uint8Array.of(...cursor, 0)
    const rows = [...this.#db.images.getRange({ start, limit: count })]
    const images = rows.map(({ key, value }) => {
      const { gallId, arrivedAtMs = null } = records.readImageIdentity(value)
      return { key: { gallId, ...imageNumbersOf(key) }, arrivedAtMs }
    })
    const last = rows.at(-1)
    return { images, cursor: last === undefined || rows.length < count ? null : new Uint8Array(last.key) }
  }

  removeImages(keys: readonly ImageKey[]): Promise<void> {
    return this.#write(removalBytes, () => {
      const encoders = this.#encoders()
      for (const key of keys.map(imageKeyOf)) {
        const record = this.#db.images.getBinary(key)
        if (record === undefined) continue
        this.#removeImageVectors(records.readImageIdentity(record).sha256, encoders)
        this.#db.images.removeSync(key)
        this.#db.imageBytes.removeSync(key)
      }
    })
  }

  outcomesAfter(
    cursor: Uint8Array | null,
    count: number,
  ): { outcomes: { placementId: string; record: Uint8Array }[]; cursor: Uint8Array | null } {
    const start = cursor === null ? new Uint8Array([0]) : Uint8Array.of(...cursor, 0)
    const rows = [...this.#db.outcomes.getRange({ start, limit: count })]
    const last = rows.at(-1)
    return {
      // Copies: they are judged in this turn, and removed in a later one.
      outcomes: rows.map(({ value }) => records.readStoredOutcome(Uint8Array.from(value))),
      cursor: last === undefined || rows.length < count ? null : new Uint8Array(last.key),
    }
  }

  removeOutcomes(outcomes: readonly OutcomeEntry[]): Promise<void> {
    return this.#write(removalBytes, () => {
      for (const { placementId, record } of outcomes) {
        const key = placementKeyOf(placementId)
        const stored = this.#db.outcomes.getBinary(key)
        if (stored === undefined) continue
        if (Buffer.compare(records.readStoredOutcome(stored).record, record) === 0)
          this.#db.outcomes.removeSync(key)
      }
    })
  }

  /** What a pending post needs of the cycle with which it entered. */
  #removeEntry(position: Position, encoders: readonly Buffer[]): void {
    this.#db.requests.removeSync(position)
    this.#db.entered.removeSync(position)
    for (const encoder of encoders) {
      const start = Buffer.alloc(textKeyBytes)
      start.set(encoder)
      start.writeUInt32BE(position, encoderKeyBytes)
      const end = Buffer.from(start)
      end.writeUInt32BE(position + 1, encoderKeyBytes)
      for (const key of [...this.#db.embeddings.getKeys({ start, end })])
        // Vectors of images stand among them, under longer keys.
        if (key.length === textKeyBytes) this.#db.embeddings.removeSync(key)
    }
  }

  #removeShadowScores(position: Position): void {
    const [start, end] = [new Uint8Array(4), new Uint8Array(4)]
    viewOf(start).setUint32(0, position)
    viewOf(end).setUint32(0, position + 1)
    for (const key of [...this.#db.shadowScores.getKeys({ start, end })])
      this.#db.shadowScores.removeSync(key)
  }

  /** A vector that another image of the same bytes needs is made again at the next start or change of models. */
  #removeImageVectors(sha256: Uint8Array, encoders: readonly Buffer[]): void {
    for (const encoder of encoders) this.#db.embeddings.removeSync(Buffer.concat([encoder, sha256]))
  }

  /** Encoders that have vectors: one look for each. */
  #encoders(): Buffer[] {
    const encoders: Buffer[] = []
    let start: Uint8Array = new Uint8Array([0])
    for (;;) {
      const [key] = this.#db.embeddings.getKeys({ start, limit: 1 })
      if (key === undefined) return encoders
      const encoder = Buffer.from(key.subarray(0, encoderKeyBytes))
      encoders.push(encoder)
      start = Buffer.concat([encoder, new Uint8Array(64).fill(afterAll)])
    }
  }
}
