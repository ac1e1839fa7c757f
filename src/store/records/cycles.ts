/**
 * Cycles in the databases: labels, hashes, request, response, record, and the id of each; saved pools.
 */
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'
import type { CycleContents, CycleStore, Position, StoredCycle } from '../store.js'
import { chainLinks, chainStart, hashBefore, linkHash, recordHash, scorerHashes } from './chain.js'
import type { Databases } from './databases.js'
import { Scratch } from './envelope.js'
import { cycleIdKey } from './keys.js'
import { packEmbeddings } from './model-records.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'

/** Records that are bytes which the store does not interpret, as error messages name them. */
export const opaqueNames = {
  responses: 'response',
  cycleRecords: 'record of a cycle',
  pool: 'saved pool',
} as const

export function cycleStore(db: Databases, access: RecordAccess): CycleStore {
  const memory = new Scratch()

  async function appendCycle(cycle: CycleContents): Promise<Position> {
    const { cycleId } = cycle
    const idKey = cycleIdKey(cycleId)
    if (idKey === undefined) throw new TypeError(`not a cycle id: ${cycleId}`)
    const { request, requestSha256, response, responseSha256, record } = cycle
    const labels = records.packCycle(cycle)
    const texts = cycle.texts ? packEmbeddings(cycle.texts.encoder, cycle.texts.entries) : []
    const recordSha256 = recordHash(labels, record)
    const scratch = memory.begin()
    try {
      const packed = {
        request: records.packRequest(request, scratch),
        response: records.packResponse(response, responseSha256, scratch),
        record: records.packBytes(record, scratch),
      }
      const append = (): Position => {
        if (db.cycleIds.doesExist(idKey)) throw new StoreError('exists', `cycle ${cycleId} is already stored`)
        const free = cycle.position ?? lastPosition(db) + 1
        if (!isNext(db, free))
          throw new StoreError('failed', `cycle ${cycleId} was planned for ${free}, not the next position`)
        assert(!db.responses.doesExist(free), 'a position without a cycle has no response')
        const hashed = { requestSha256, responseSha256, ...scorerHashes(db, cycle) }
        const hash = linkHash(hashBefore(db, free), { ...hashed, recordSha256 })
        db.chain.put(free, records.packChainEntry({ ...hashed, hash, expiries: [] }))
        db.cycles.put(free, labels)
        db.requests.put(free, packed.request)
        db.responses.put(free, packed.response)
        db.cycleRecords.put(free, packed.record)
        for (const text of texts) db.embeddings.put(text.key, text.record)
        db.cycleIds.put(idKey, records.packPosition(free))
        return free
      }
      const bytes = bytesOf([labels, ...Object.values(packed), ...texts.map((text) => text.record)])
      return await access.writes.write(bytes, append, true)
    } finally {
      scratch?.end()
    }
  }

  function readCycle(position: Position): StoredCycle | undefined {
    return access.read(db.cycles, position, (record) => ({ position, ...records.readCycle(record) }))
  }

  function positionOf(cycleId: string): Position | undefined {
    const key = cycleIdKey(cycleId)
    return key && access.read(db.cycleIds, key, records.readPosition)
  }

  function readOpaque(name: keyof typeof opaqueNames, key: number): Uint8Array | undefined {
    return access.read(db[name], key, (record) => records.readBytes(record, opaqueNames[name]))
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
      return position === undefined ? undefined : readOpaque('responses', position)
    },
    *tail(position) {
      access.checkOpen()
      for (let next = Math.max(firstPosition(db), position); ; next++) {
        const cycle = readCycle(next)
        if (cycle === undefined) return
        yield cycle
      }
    },
    readRecord: (position) => readOpaque('cycleRecords', position),
    *recordedCycles() {
      access.checkOpen()
      for (const { key, value } of db.cycles.getRange({}))
        yield { position: key, ...records.readCycle(value) }
    },
    hashes(position) {
      access.checkOpen()
      if (!db.cycles.doesExist(position)) return undefined
      const entry = access.read(db.chain, position, records.readChainEntry)
      if (entry === undefined) return undefined
      const { requestSha256, responseSha256, hash } = entry
      return { requestSha256, responseSha256, hash }
    },
    chainStart() {
      access.checkOpen()
      return chainStart(db)
    },
    chainLinks() {
      access.checkOpen()
      return chainLinks(db)
    },
    chainHead() {
      access.checkOpen()
      return [...chainLinks(db, lastPosition(db))].at(-1)
    },
    async savePool(position, saved, kept) {
      const record = records.packBytes(saved)
      await access.writes.write(record.byteLength, () => {
        assert(db.cycles.doesExist(position), 'a saved pool has its cycle')
        for (const other of savedPools(db)) if (other !== kept) db.pool.remove(other)
        db.pool.put(position, record)
      })
    },
    savedPools() {
      access.checkOpen()
      return savedPools(db)
    },
    readSavedPool: (position) => readOpaque('pool', position),
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

/** Positions of the saved pools, newest first. */
export function savedPools({ pool }: Databases): Position[] {
  return [...pool.getKeys({ reverse: true })]
}
