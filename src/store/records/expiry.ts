/**
 * Removes expired records, a few in one transaction. src/cycle/retention.ts decides which ones. The id of a removed cycle
 * stays, so that no cycle is processed twice.
 */
import { appendExpiry, moveChainStart } from './chain.js'
import { kibibyte } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { firstPosition, lastPosition, savedPools } from './cycles.js'
import { keyAfter, pageAfter, type Databases } from './databases.js'
import {
  cycleIdKey,
  encoderKeyBytes,
  imageKeyOf,
  imageNumbersOf,
  imageUseKeyOf,
  nameHash,
  shadowKeyRange,
} from './keys.js'
import type { RecordAccess } from './record-access.js'
import * as records from './payloads.js'
import type { ExpiryRecords, ImageArrival, Position, StoredCycle } from '../store.js'

/** Estimate of what a removal writes: tree pages and the list of free pages. */
const removalBytes = 256 * kibibyte
/** Encoder, position, row: the key of a text's vector. */
const textKeyBytes = encoderKeyBytes + 8
const afterAll = 0xff

export function expiryRecords(db: Databases, access: RecordAccess): ExpiryRecords {
  const remove = <T>(apply: () => T): Promise<T> => access.writes.write(removalBytes, apply)
  function* oldest(start: Position, limit: number): Iterable<StoredCycle> {
    for (const { key, value } of db.cycles.getRange({ start, limit }))
      yield { position: key, ...records.readCycle(value) }
  }
  return {
    isExpired(cycleId) {
      const key = cycleIdKey(cycleId)
      const position = key && access.read(db.cycleIds, key, records.readPosition)
      return position !== undefined && position < firstPosition(db)
    },
    firstPosition: () => firstPosition(db),
    oldestCycles: (count) => oldest(firstPosition(db), count),
    keptEntries: (count) => [...db.requests.getKeys({ end: firstPosition(db), limit: count })],
    removeCycles: (cycles) =>
      remove(() => {
        const encoders = encodersOf(db)
        const [covered = 0] = savedPools(db)
        const last = lastPosition(db)
        let next = firstPosition(db)
        for (const { position, keepEntry } of cycles) {
          assert(position <= covered, 'a saved pool contains each cycle that expires')
          assert(position === next++, 'cycles expire in the order of arrival')
          assert(position < last, 'the newest cycle never expires')
          db.responses.remove(position)
          if (!keepEntry) removeEntry(db, position, encoders)
        }
        if (cycles.length > 0) appendExpiry(db, last, { ended: 'responses', through: next - 1 })
      }),
    removeEntries: (positions) =>
      remove(() => {
        const encoders = encodersOf(db)
        for (const position of positions) removeEntry(db, position, encoders)
      }),
    oldestRecords: (count) => oldest(0, count),
    removeRecords: (positions) =>
      remove(() => {
        const first = firstPosition(db)
        for (const position of positions) {
          assert(position < first, 'the record of a cycle is not removed before its response')
          moveChainStart(db, position)
          db.cycles.remove(position)
          // A pending post needs the place of its candidate in the request.
          if (!db.requests.doesExist(position)) db.cycleRecords.remove(position)
          removeShadowScores(db, position)
        }
        const through = positions.at(-1)
        if (through !== undefined) appendExpiry(db, lastPosition(db), { ended: 'records', through })
      }),
    imagesAfter: (cursor, count) =>
      pageAfter(db.images, cursor, count, (record, key) => {
        const { gallId, arrivedAtMs } = records.readImageIdentity(record)
        return { key: { gallId, ...imageNumbersOf(key) }, arrivedAtMs }
      }),
    removeImages: (images) =>
      remove(() => {
        const encoders = encodersOf(db)
        return images.filter((image) => removeImage(db, image, encoders)).map(({ key }) => key)
      }),
    outcomesAfter: (cursor, count) =>
      // Copies: the caller keeps them beyond this turn of the event loop.
      pageAfter(db.outcomes, cursor, count, (record) => records.readStoredOutcome(Uint8Array.from(record))),
    removeOutcomes: (outcomes) =>
      remove(() => {
        for (const { placementId, record, arrivedAtMs } of outcomes) {
          const key = nameHash(placementId)
          const stored = db.outcomes.getBinary(key)
          if (stored === undefined) continue
          const current = records.readStoredOutcome(stored)
          if (current.arrivedAtMs === arrivedAtMs && Buffer.compare(current.record, record) === 0)
            db.outcomes.remove(key)
        }
      }),
  }
}

/** False when the image was deleted or has arrived again. */
function removeImage(
  db: Databases,
  { key, arrivedAtMs }: ImageArrival,
  encoders: readonly Buffer[],
): boolean {
  const imageKey = imageKeyOf(key)
  const record = db.images.getBinary(imageKey)
  if (record === undefined) return false
  const { sha256, arrivedAtMs: storedAtMs } = records.readImageIdentity(record)
  if (storedAtMs !== arrivedAtMs) return false
  db.images.remove(imageKey)
  db.imageBytes.remove(imageKey)
  db.imageUses.remove(imageUseKeyOf(sha256, imageKey))
  if (!isUsed(db, sha256))
    for (const encoder of encoders) db.embeddings.remove(Buffer.concat([encoder, sha256]))
  return true
}

/** True when an image has these bytes. */
function isUsed(db: Databases, sha256: Uint8Array): boolean {
  const end = Buffer.concat([sha256, new Uint8Array(64).fill(afterAll)])
  return [...db.imageUses.getKeys({ start: sha256, end, limit: 1 })].length > 0
}

/** Removes what a pending post needs of the cycle with which it entered. */
function removeEntry(db: Databases, position: Position, encoders: readonly Buffer[]): void {
  db.requests.remove(position)
  if (!db.cycles.doesExist(position)) db.cycleRecords.remove(position)
  for (const encoder of encoders) {
    const start = Buffer.alloc(textKeyBytes)
    start.set(encoder)
    start.writeUInt32BE(position, encoderKeyBytes)
    const end = Buffer.from(start)
    end.writeUInt32BE(position + 1, encoderKeyBytes)
    for (const key of [...db.embeddings.getKeys({ start, end })])
      // Vectors of images, under longer keys, are between them.
      if (key.length === textKeyBytes) db.embeddings.remove(key)
  }
}

function removeShadowScores(db: Databases, position: Position): void {
  const [start, end] = shadowKeyRange(position)
  for (const key of [...db.shadowScores.getKeys({ start, end })]) db.shadowScores.remove(key)
}

/** Encoders that have vectors. One read for each. */
function encodersOf(db: Databases): Buffer[] {
  const encoders: Buffer[] = []
  let start = keyAfter(null)
  for (;;) {
    const [key] = db.embeddings.getKeys({ start, limit: 1 })
    if (key === undefined) return encoders
    const encoder = Buffer.from(key.subarray(0, encoderKeyBytes))
    encoders.push(encoder)
    start = Buffer.concat([encoder, new Uint8Array(64).fill(afterAll)])
  }
}
