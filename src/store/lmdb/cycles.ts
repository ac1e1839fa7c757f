/**
 * Cycles in the databases: labels, request, response, columns of entered and left posts, the pool, and the id of each.
 */
import { ArenaPool, assert, type Arena } from '../../contract/index.js'
import { StoreError } from '../store-error.js'
import type { CycleRecord, Position, Store, StoredCycle } from '../store.js'
import { poolKey, type Databases } from './databases.js'
import { cycleIdKey } from './keys.js'
import { packEmbeddings, type PackedEmbedding } from './model-records.js'
import type { PositionsOfStore } from './positions.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './records.js'

type CycleRecords = Pick<
  Store,
  | 'appendCycle'
  | 'findCycle'
  | 'lastCycle'
  | 'readRequest'
  | 'readResponse'
  | 'tail'
  | 'readEntered'
  | 'readLeft'
  | 'readAvailability'
  | 'readEvaluation'
  | 'evaluatedCycles'
  | 'readPool'
>

export function cycleRecords(db: Databases, access: RecordAccess, positions: PositionsOfStore): CycleRecords {
  /** Memory for the records of a cycle, until its transaction is over. */
  const arenas = new ArenaPool()

  async function appendCycle(record: CycleRecord): Promise<Position> {
    const { cycleId } = record
    const idKey = cycleIdKey(cycleId)
    if (idKey === undefined) throw new TypeError(`not a cycle id: ${cycleId}`)
    const arena = arenas.acquire()
    try {
      const packed = packCycle(record, arena)
      const append = (free: Position): Position => {
        if (db.cycleIds.doesExist(idKey)) throw new StoreError('exists', `cycle ${cycleId} is stored already`)
        if (record.position !== undefined && record.position !== free)
          throw new StoreError(
            'failed',
            `cycle ${cycleId} was planned for position ${record.position}, and ${free} is free`,
          )
        assert(!db.responses.doesExist(free), 'a position without a cycle has no response')
        positions.begin(free, cycleId)
        putCycle(db, free, packed)
        db.cycleIds.putSync(idKey, records.packPosition(free))
        return free
      }
      const position = await access.write('appendCycle', packed.bytes, append)
      positions.confirm(position)
      return position
    } finally {
      arena.release()
    }
  }

  function readCycle(position: Position): StoredCycle | undefined {
    const record = access.read(db.cycles, position)
    return record && { position, ...records.readHeader(record) }
  }

  function positionOf(cycleId: string): Position | undefined {
    const key = cycleIdKey(cycleId)
    const record = key && access.read(db.cycleIds, key)
    return record && records.readPosition(record)
  }

  function readColumns(
    database: Databases['entered' | 'left' | 'availability' | 'pool'],
    key: number,
    what: string,
  ): Uint8Array | undefined {
    const record = access.read(database, key)
    return record && records.readBytes(record, what)
  }

  return {
    appendCycle,
    findCycle(cycleId) {
      const position = positionOf(cycleId)
      const cycle = position === undefined ? undefined : readCycle(position)
      // Keys have no checksum: a damaged key must not return another cycle.
      if (cycle !== undefined && cycle.cycleId !== cycleId)
        throw new StoreError('unusable', `the id ${cycleId} leads to the cycle ${cycle.cycleId}`)
      return cycle
    },
    lastCycle() {
      access.checkOpen()
      return readCycle(positions.next() - 1)
    },
    readRequest(position) {
      const record = access.read(db.requests, position)
      return record && records.readStoredRequest(record)
    },
    readResponse(cycleId) {
      const position = positionOf(cycleId)
      const record = position === undefined ? undefined : access.read(db.responses, position)
      return record && records.readBytes(record, 'response')
    },
    *tail(position) {
      access.checkOpen()
      for (let next = Math.max(firstPosition(db), position); ; next++) {
        const cycle = readCycle(next)
        if (cycle === undefined) return
        yield cycle
      }
    },
    readEntered: (position) => readColumns(db.entered, position, 'columns of entered posts'),
    readLeft: (position) => readColumns(db.left, position, 'columns of posts that left'),
    readAvailability: (position) => readColumns(db.availability, position, 'availability'),
    readEvaluation(position) {
      const record = access.read(db.evaluations, position)
      return record && records.readEvaluation(record).columns
    },
    *evaluatedCycles() {
      access.checkOpen()
      for (const { key, value } of db.evaluations.getRange({}))
        yield { position: key, ...records.readEvaluation(value).header }
    },
    readPool: () => readColumns(db.pool, poolKey, 'pool'),
  }
}

/** Position of the oldest cycle that is stored, as earlier ones may have expired; 1 in an empty store. */
export function firstPosition({ cycles }: Databases): Position {
  return [...cycles.getKeys({ limit: 1 })][0] ?? 1
}

/** The records of one cycle, except that of its id. They are in an arena. */
interface PackedCycle {
  /** By database, under the position of the cycle. */
  readonly parts: Readonly<Record<CyclePart, Uint8Array | null>>
  readonly pool: Uint8Array
  readonly texts: readonly PackedEmbedding[]
  readonly bytes: number
}

type CyclePart = 'requests' | 'responses' | 'entered' | 'left' | 'availability' | 'evaluations' | 'cycles'

function packCycle(cycle: CycleRecord, arena: Arena): PackedCycle {
  const packed = (bytes: Uint8Array | null | undefined): Uint8Array | null =>
    bytes ? records.packBytes(bytes, arena) : null
  const parts = {
    requests: records.packRequest(cycle.request, arena),
    responses: packed(cycle.response),
    entered: packed(cycle.entered),
    left: packed(cycle.left),
    availability: packed(cycle.availability),
    evaluations: cycle.evaluation ? records.packEvaluation(cycle, cycle.evaluation, arena) : null,
    cycles: records.packHeader(cycle),
  }
  const pool = records.packBytes(cycle.pool, arena)
  const texts = cycle.texts ? packEmbeddings(cycle.texts.encoder, cycle.texts.entries) : []
  const bytes = bytesOf(...Object.values(parts), pool, ...texts.map(({ record }) => record))
  return { parts, pool, texts, bytes }
}

function putCycle(db: Databases, position: Position, { parts, pool, texts }: PackedCycle): void {
  for (const [part, record] of Object.entries(parts))
    if (record !== null) db[part as CyclePart].putSync(position, record)
  db.pool.putSync(poolKey, pool)
  for (const { key, record } of texts) db.embeddings.putSync(key, record)
}
