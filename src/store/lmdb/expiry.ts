/**
 * Records that have served their time, taken out a few at a time: what may go, others decide (src/cycle/retention.ts).
 * An id stays when its cycle goes, so that no cycle is ever processed twice.
 */
import type { Databases } from './databases.js'
import { imageKeyOf, imageNumbersOf, imageUseKeyOf, placementKeyOf, usedImageOf } from './keys.js'
import type { RecordAccess } from './record-access.js'
import * as records from './records.js'
import { viewOf } from './record.js'
import type { ExpiryRecords, ImageArrival, ImageKey, OutcomeEntry, Position, StoredCycle } from '../store.js'

/** About what a removal writes: tree pages and the list of free pages. */
const removalBytes = 64 * 1024
const encoderKeyBytes = 16
/** Encoder, position, row: the key of a text's vector. */
const textKeyBytes = encoderKeyBytes + 8
const afterAll = 0xff
/** Images that get what they lack in one transaction, of a few milliseconds. */
const completedPerStep = 200

/** Where a cycle of this id is, or was before it expired. */
type PositionOf = (cycleId: string) => Position | undefined

export class LmdbExpiry implements ExpiryRecords {
  readonly #db: Databases
  readonly #write: RecordAccess['write']
  readonly #positionOf: PositionOf
  /**
   * Images up to this key lack nothing; null: none does. All are looked at once in each process: a program of an earlier
   * version may have had the file since the last look, and no count would tell.
   */
  #completeUpTo: Uint8Array | null = new Uint8Array([0])

  constructor(databases: Databases, access: RecordAccess, positionOf: PositionOf) {
    this.#db = databases
    this.#write = access.write
    this.#positionOf = positionOf
  }

  isExpired(cycleId: string): boolean {
    const position = this.#positionOf(cycleId)
    if (position === undefined) return false
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
        this.#db.availability.removeSync(position)
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

  async completeImages(nowMs: number): Promise<boolean> {
    if (this.#completeUpTo === null) return true
    const start = Uint8Array.of(...this.#completeUpTo, 0)
    const keys = [...this.#db.images.getKeys({ start, limit: completedPerStep })]
    if (keys.some((key) => this.#lacks(key)))
      await this.#write(removalBytes, () => {
        for (const key of keys) if (this.#lacks(key)) this.#complete(key, nowMs)
      })
    this.#completeUpTo = keys.length < completedPerStep ? null : new Uint8Array(keys.at(-1) ?? [])
    return this.#completeUpTo === null
  }

  #lacks(key: Uint8Array): boolean {
    const record = this.#db.images.getBinary(key)
    if (record === undefined) return false
    const { sha256, arrivedAtMs } = records.readImageIdentity(record)
    return arrivedAtMs === undefined || !this.#db.imageUses.doesExist(imageUseKeyOf(sha256, key))
  }

  #complete(key: Uint8Array, nowMs: number): void {
    const { gallId, ...image } = records.readImageIdentity(this.#db.images.getBinary(key) as Uint8Array)
    const use = imageUseKeyOf(image.sha256, key)
    this.#db.images.putSync(key, records.packImageIdentity(gallId, { arrivedAtMs: nowMs, ...image }))
    this.#db.imageUses.putSync(use, records.packBytes(new Uint8Array()))
  }

  removeImages(images: readonly ImageArrival[]): Promise<ImageKey[]> {
    return this.#write(removalBytes, () => {
      const encoders = this.#encoders()
      const removed = images.filter((image) => this.#removeImage(image, encoders))
      return removed.map(({ key }) => key)
    })
  }

  /** False where it has gone or arrived anew. */
  #removeImage({ key, arrivedAtMs }: ImageArrival, encoders: readonly Buffer[]): boolean {
    const imageKey = imageKeyOf(key)
    const record = this.#db.images.getBinary(imageKey)
    if (record === undefined) return false
    const { sha256, arrivedAtMs: storedAtMs = null } = records.readImageIdentity(record)
    if (storedAtMs !== arrivedAtMs) return false
    this.#db.images.removeSync(imageKey)
    this.#db.imageBytes.removeSync(imageKey)
    this.#db.imageUses.removeSync(imageUseKeyOf(sha256, imageKey))
    if (!this.#isUsed(sha256)) this.#removeImageVectors(sha256, encoders)
    return true
  }

  /** Whether any image has this picture. */
  #isUsed(sha256: Uint8Array): boolean {
    const end = Buffer.concat([sha256, new Uint8Array(64).fill(afterAll)])
    for (const key of this.#db.imageUses.getKeys({ start: sha256, end })) {
      const image = this.#db.images.getBinary(usedImageOf(key).imageKey)
      // A program of an earlier version may have removed or replaced the image, and not this.
      if (image !== undefined && Buffer.compare(records.readImageIdentity(image).sha256, sha256) === 0)
        return true
    }
    return false
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
      for (const { placementId, record, arrivedAtMs } of outcomes) {
        const key = placementKeyOf(placementId)
        const stored = this.#db.outcomes.getBinary(key)
        if (stored === undefined) continue
        const standing = records.readStoredOutcome(stored)
        if (standing.arrivedAtMs === arrivedAtMs && Buffer.compare(standing.record, record) === 0)
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
