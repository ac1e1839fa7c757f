/**
 * Removes expired records, a few in one transaction. src/cycle/retention.ts decides which ones. The id of a removed cycle
 * stays, so that no cycle is processed twice.
 */
import { firstPosition } from './cycles.js'
import { keyAfter, pageAfter, type Databases } from './databases.js'
import {
  cycleIdKey,
  imageKeyOf,
  imageNumbersOf,
  imageUseKeyOf,
  placementKeyOf,
  shadowKeyRange,
} from './keys.js'
import type { RecordAccess } from './record-access.js'
import * as records from './records.js'
import type {
  ExpiryRecords,
  ImageArrival,
  ImageKey,
  OutcomeEntry,
  Page,
  Position,
  StoredCycle,
} from '../store.js'

/** Estimate of what a removal writes: tree pages and the list of free pages. */
const removalBytes = 64 * 1024
const encoderKeyBytes = 16
/** Encoder, position, row: the key of a text's vector. */
const textKeyBytes = encoderKeyBytes + 8
const afterAll = 0xff

export class Expiry implements ExpiryRecords {
  readonly #db: Databases
  readonly #write: RecordAccess['write']
  readonly #read: RecordAccess['read']
  readonly #removeDeadReaders: () => void

  constructor(databases: Databases, access: RecordAccess, removeDeadReaders: () => void) {
    this.#db = databases
    this.#write = access.write
    this.#read = access.read
    this.#removeDeadReaders = removeDeadReaders
  }

  isExpired(cycleId: string): boolean {
    const key = cycleIdKey(cycleId)
    const record = key && this.#read(this.#db.cycleIds, key)
    return record !== undefined && records.readPosition(record) < this.firstPosition()
  }

  firstPosition(): Position {
    return firstPosition(this.#db)
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
    this.#removeDeadReaders()
    return this.#write('expire', removalBytes, () => {
      const encoders = this.#encoders()
      for (const { position, keepEntry } of cycles) {
        this.#db.cycles.removeSync(position)
        this.#db.responses.removeSync(position)
        this.#db.left.removeSync(position)
        this.#db.availability.removeSync(position)
        // Shadow scores are evaluated with the evaluation record, and stay as long.
        if (!this.#db.evaluations.doesExist(position)) this.#removeShadowScores(position)
        if (!keepEntry) this.#removeEntry(position, encoders)
      }
    })
  }

  removeEntries(positions: readonly Position[]): Promise<void> {
    return this.#write('expire', removalBytes, () => {
      const encoders = this.#encoders()
      for (const position of positions) this.#removeEntry(position, encoders)
    })
  }

  oldestEvaluations(count: number): StoredCycle[] {
    return [...this.#db.evaluations.getRange({ limit: count })].map(({ key, value }) => ({
      position: key,
      ...records.readEvaluation(value).header,
    }))
  }

  removeEvaluations(positions: readonly Position[]): Promise<void> {
    return this.#write('expire', removalBytes, () => {
      for (const position of positions) {
        this.#db.evaluations.removeSync(position)
        this.#removeShadowScores(position)
      }
    })
  }

  imagesAfter(cursor: Uint8Array | null, count: number): Page<ImageArrival> {
    return pageAfter(this.#db.images, cursor, count, (record, key) => {
      const { gallId, arrivedAtMs = null } = records.readImageIdentity(record)
      return { key: { gallId, ...imageNumbersOf(key) }, arrivedAtMs }
    })
  }

  removeImages(images: readonly ImageArrival[]): Promise<ImageKey[]> {
    return this.#write('expire', removalBytes, () => {
      const encoders = this.#encoders()
      const removed = images.filter((image) => this.#removeImage(image, encoders))
      return removed.map(({ key }) => key)
    })
  }

  /** False when the image was deleted or has arrived again. */
  #removeImage({ key, arrivedAtMs }: ImageArrival, encoders: readonly Buffer[]): boolean {
    const imageKey = imageKeyOf(key)
    const record = this.#db.images.getBinary(imageKey)
    if (record === undefined) return false
    const { sha256, arrivedAtMs: storedAtMs = null } = records.readImageIdentity(record)
    if (storedAtMs !== arrivedAtMs) return false
    this.#db.images.removeSync(imageKey)
    this.#db.imageBytes.removeSync(imageKey)
    this.#db.imageUses.removeSync(imageUseKeyOf(sha256, imageKey))
    if (!this.#isUsed(sha256))
      for (const encoder of encoders) this.#db.embeddings.removeSync(Buffer.concat([encoder, sha256]))
    return true
  }

  /** True when an image has these bytes. */
  #isUsed(sha256: Uint8Array): boolean {
    const end = Buffer.concat([sha256, new Uint8Array(64).fill(afterAll)])
    return [...this.#db.imageUses.getKeys({ start: sha256, end, limit: 1 })].length > 0
  }

  outcomesAfter(cursor: Uint8Array | null, count: number): Page<OutcomeEntry> {
    // Copies: the caller keeps them beyond this turn of the event loop.
    return pageAfter(this.#db.outcomes, cursor, count, (record) =>
      records.readStoredOutcome(Uint8Array.from(record)),
    )
  }

  removeOutcomes(outcomes: readonly OutcomeEntry[]): Promise<void> {
    return this.#write('expire', removalBytes, () => {
      for (const { placementId, record, arrivedAtMs } of outcomes) {
        const key = placementKeyOf(placementId)
        const stored = this.#db.outcomes.getBinary(key)
        if (stored === undefined) continue
        const found = records.readStoredOutcome(stored)
        if (found.arrivedAtMs === arrivedAtMs && Buffer.compare(found.record, record) === 0)
          this.#db.outcomes.removeSync(key)
      }
    })
  }

  /** Removes what a pending post needs of the cycle with which it entered. */
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
        // Vectors of images, under longer keys, are between them.
        if (key.length === textKeyBytes) this.#db.embeddings.removeSync(key)
    }
  }

  #removeShadowScores(position: Position): void {
    const [start, end] = shadowKeyRange(position)
    for (const key of [...this.#db.shadowScores.getKeys({ start, end })])
      this.#db.shadowScores.removeSync(key)
  }

  /** Encoders that have vectors. One read for each. */
  #encoders(): Buffer[] {
    const encoders: Buffer[] = []
    let start = keyAfter(null)
    for (;;) {
      const [key] = this.#db.embeddings.getKeys({ start, limit: 1 })
      if (key === undefined) return encoders
      const encoder = Buffer.from(key.subarray(0, encoderKeyBytes))
      encoders.push(encoder)
      start = Buffer.concat([encoder, new Uint8Array(64).fill(afterAll)])
    }
  }
}
