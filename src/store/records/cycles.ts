/**
 * Cycles in the databases: labels, hashes, request, response, columns of the record, and the id of each; snapshots of the
 * pool.
 */
import { ignoringErrors, nextTurn } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'
import type { CycleHashes, CycleRecord, CycleRecords, Position, StoredCycle } from '../store.js'
import { chainStart, computeHashes, hashBefore, hashedCycle, hashesAfter } from './chain.js'
import type { Databases } from './databases.js'
import { Scratch } from './envelope.js'
import { cycleIdKey } from './keys.js'
import { packEmbeddings } from './model-records.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'

/** Records that are bytes which the store does not interpret, as error messages name them. */
export const columnNames = {
  responses: 'response',
  cycleColumns: 'columns of a cycle',
  pool: 'snapshot of the pool',
} as const

/** The hashes of the last cycle, which are not stored yet. */
interface LastHashes {
  readonly position: Position
  /** The record of its labels: after a change of owner, another cycle may be at its position. */
  readonly labels: Uint8Array
  readonly hashes: CycleHashes
}

export function cycleRecords(db: Databases, access: RecordAccess): CycleRecords {
  let last: LastHashes | null = null
  /** Until the last cycle is hashed. Never rejects: hashes that are missing are computed from the records. */
  let hashing: Promise<void> | null = null
  const scratch = new Scratch()

  async function appendCycle(record: CycleRecord): Promise<Position> {
    const { cycleId } = record
    const idKey = cycleIdKey(cycleId)
    if (idKey === undefined) throw new TypeError(`not a cycle id: ${cycleId}`)
    const { request, response, columns } = record
    const labels = records.packCycle(record)
    const texts = record.texts ? packEmbeddings(record.texts.encoder, record.texts.entries) : []
    const bytes = bytesOf([labels, request.bytes, response, columns, ...texts.map((text) => text.record)])
    let before = ''
    const append = (): Position => {
      if (db.cycleIds.doesExist(idKey)) throw new StoreError('exists', `cycle ${cycleId} is already stored`)
      const free = record.position ?? lastPosition(db) + 1
      if (!isNext(db, free))
        throw new StoreError('failed', `cycle ${cycleId} was planned for ${free}, not the next position`)
      assert(!db.responses.doesExist(free), 'a position without a cycle has no response')
      db.requests.putSync(free, records.packRequest(request, scratch))
      before = chainBefore(free)
      db.cycles.putSync(free, labels)
      db.responses.putSync(free, records.packBytes(response, scratch))
      db.cycleColumns.putSync(free, records.packBytes(columns, scratch))
      for (const text of texts) db.embeddings.putSync(text.key, text.record)
      db.cycleIds.putSync(idKey, records.packPosition(free))
      return free
    }
    // The hashes of the cycle before are stored with this one.
    if (hashing !== null) await hashing
    const position = await access.writes.write(bytes, append, true)
    const hashingBefore = hashing
    const hashingThis = ignoringErrors(async () => {
      // In this turn of the event loop, the response is sent.
      await nextTurn()
      await hashingBefore
      const hashes = hashesAfter(before, await hashedCycle(record, labels))
      last = { position, labels, hashes }
    }).then(() => {
      if (hashing === hashingThis) hashing = null
    })
    hashing = hashingThis
    return position
  }

  /** Within a transaction: the hash of the cycle before `position`, whose hashes are stored with the cycle there. */
  function chainBefore(position: Position): string {
    if (position === 1 || db.chain.doesExist(position - 1)) return hashBefore(db, position)
    const hashes = lastHashes(position - 1)
    db.chain.putSync(position - 1, records.packHashes(hashes))
    return hashes.hash
  }

  /** The hashes of the last cycle. */
  function lastHashes(position: Position): CycleHashes {
    const labels = db.cycles.getBinary(position)
    assert(labels !== undefined, 'the cycle is stored')
    if (last === null || !isLast(position, labels))
      last = { position, labels, hashes: computeHashes(db, position) }
    return last.hashes
  }

  /** Whether `last` has the hashes of this cycle. */
  function isLast(position: Position, labels: Uint8Array): boolean {
    return last?.position === position && Buffer.compare(last.labels, labels) === 0
  }

  /** Within a transaction. A process that ends writes a snapshot: nobody can change its last cycle unnoticed from then on. */
  function storeLastHashes(): void {
    const position = lastPosition(db)
    if (last !== null && !db.chain.doesExist(position) && isLast(position, db.cycles.getBinary(position)!))
      db.chain.putSync(position, records.packHashes(last.hashes))
  }

  function readCycle(position: Position): StoredCycle | undefined {
    return access.read(db.cycles, position, (record) => ({ position, ...records.readCycle(record) }))
  }

  function positionOf(cycleId: string): Position | undefined {
    const key = cycleIdKey(cycleId)
    return key && access.read(db.cycleIds, key, records.readPosition)
  }

  function readColumns(name: keyof typeof columnNames, key: number): Uint8Array | undefined {
    return access.read(db[name], key, (record) => records.readBytes(record, columnNames[name]))
  }

  return {
    appendCycle,
    findCycle(cycleId) {
      const position = positionOf(cycleId)
      // The labels of an expired cycle are still there.
      if (position === undefined || position < firstPosition(db)) return undefined
      const cycle = readCycle(position)
      // Keys have no checksum: a damaged key must not return another cycle.
      if (cycle !== undefined && cycle.cycleId !== cycleId)
        throw new StoreError('unusable', `the id ${cycleId} refers to the cycle ${cycle.cycleId}`)
      return cycle
    },
    hasCycle(position) {
      access.checkOpen()
      return db.cycles.doesExist(position)
    },
    lastCycle() {
      access.checkOpen()
      return readCycle(lastPosition(db))
    },
    readRequest: (position) => access.read(db.requests, position, records.readStoredRequest),
    readResponse(cycleId) {
      const position = positionOf(cycleId)
      return position === undefined ? undefined : readColumns('responses', position)
    },
    *tail(position) {
      access.checkOpen()
      for (let next = Math.max(firstPosition(db), position); ; next++) {
        const cycle = readCycle(next)
        if (cycle === undefined) return
        yield cycle
      }
    },
    readColumns: (position) => readColumns('cycleColumns', position),
    *recordedCycles() {
      access.checkOpen()
      for (const { key, value } of db.cycles.getRange({}))
        yield { position: key, ...records.readCycle(value) }
    },
    hashed: () => hashing ?? Promise.resolve(),
    hashes(position) {
      access.checkOpen()
      if (!db.cycles.doesExist(position)) return undefined
      return access.read(db.chain, position, records.readHashes) ?? lastHashes(position)
    },
    chainStart() {
      access.checkOpen()
      return chainStart(db)
    },
    async putPoolSnapshot(position, columns, kept) {
      const record = records.packBytes(columns)
      if (hashing !== null) await hashing
      await access.writes.write(record.byteLength, () => {
        assert(db.cycles.doesExist(position), 'a snapshot of the pool has its cycle')
        for (const other of poolSnapshots(db)) if (other !== kept) db.pool.removeSync(other)
        db.pool.putSync(position, record)
        storeLastHashes()
      })
    },
    poolSnapshots() {
      access.checkOpen()
      return poolSnapshots(db)
    },
    readPoolSnapshot: (position) => readColumns('pool', position),
  }
}

/** Position of the oldest cycle that has not expired; 1 in an empty store. */
export function firstPosition({ responses }: Pick<Databases, 'responses'>): Position {
  return [...responses.getKeys({ limit: 1 })][0] ?? 1
}

/** Position of the last cycle to arrive; 0 in an empty store. */
export function lastPosition({ cycles }: Pick<Databases, 'cycles'>): Position {
  return [...cycles.getKeys({ reverse: true, limit: 1 })][0] ?? 0
}

/** Whether a position follows the last one. Two keys are found faster than the last one: positions have no gaps. */
function isNext(db: Pick<Databases, 'cycles'>, position: Position): boolean {
  if (db.cycles.doesExist(position)) return false
  return position === 1 ? lastPosition(db) === 0 : db.cycles.doesExist(position - 1)
}

/** Positions of the snapshots of the pool, newest first. */
export function poolSnapshots({ pool }: Databases): Position[] {
  return [...pool.getKeys({ reverse: true })]
}
