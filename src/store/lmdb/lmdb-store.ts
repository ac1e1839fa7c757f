/**
 * The store on LMDB: one environment, one transaction per write, one process per data directory. This file holds cycles;
 * images, models, weights, outcomes and expiry have files of their own.
 */
import { ArenaPool, assert, type Arena } from '../../contract/index.js'
import { describe, StoreError } from '../store-error.js'
import type {
  CycleRecord,
  ExpiryRecords,
  ImageKey,
  ModelRecords,
  OutcomeEntry,
  Position,
  PutImageResult,
  Store,
  StoredCycle,
  StoredImage,
  StoredRequest,
  WeightsEntry,
} from '../store.js'
import { bytesInUse, type Databases } from './databases.js'
import { LmdbExpiry } from './expiry.js'
import { diskBytesFree } from './free-space.js'
import { LmdbImages } from './images.js'
import { cycleIdKey } from './keys.js'
import { LmdbModelRecords, packEmbeddings } from './model-records.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './records.js'
import { LmdbWeightsAndOutcomes } from './weights-and-outcomes.js'
import { Writer } from './writer.js'

/** Key of the one record in `pool`. */
const poolKey = 0

export interface LmdbStoreParts {
  /** The data directory, for its free space. */
  readonly dataDir: string
  readonly databases: Databases
  readonly mapBytesMax: number
  readonly waitingBytesMax: number
  /** Throws a StoreError when the open file is not at its path any more. */
  readonly checkFile: () => void
  /** Called once, when the store refuses all further writes. */
  readonly onStopped: (reason: StoreError) => void
  /** Called after the environment is closed. */
  readonly onClosed: () => Promise<void>
}

/** Made by `openLmdbStore`, and by `openSnapshot` for reading. */
export class LmdbStore implements Store {
  readonly models: ModelRecords
  readonly expiry: ExpiryRecords
  readonly #images: LmdbImages
  readonly #weightsAndOutcomes: LmdbWeightsAndOutcomes
  readonly #db: Databases
  readonly #writer: Writer
  readonly #onClosed: () => Promise<void>
  /** Of the records of a cycle, until its transaction is over. */
  readonly #arenas = new ArenaPool()
  /** Every position up to this one is taken, by a cycle of this process or one that was there at the start. */
  #lastSeen: Position
  /** Ids by position of cycles that were written and are not known to be stored: under way, or reported as failed. */
  readonly #unconfirmed = new Map<Position, string>()
  #closing: Promise<void> | undefined

  constructor(parts: LmdbStoreParts) {
    const { dataDir, databases, mapBytesMax, waitingBytesMax, checkFile, onStopped, onClosed } = parts
    this.#db = databases
    this.#onClosed = onClosed
    const { root } = databases
    this.#writer = new Writer(
      {
        transaction: (apply) => root.transaction(apply),
        // Within a transaction, lmdb-js runs a child at once and returns what it returns; its types say Promise.
        child: <T>(apply: () => T) => root.childTransaction(apply) as T,
        probe: () => {
          root.resetReadTxn()
          databases.pool.getBinary(poolKey)
        },
        bytesInUse: () => bytesInUse(databases),
        checkFile,
        diskBytesFree: () => diskBytesFree(dataDir),
      },
      { bytesMax: mapBytesMax, waitingBytesMax, onStopped },
    )
    const access: RecordAccess = {
      checkOpen: () => this.#checkOpen(),
      write: (bytes, apply) => this.#write(bytes, apply),
      read: (database, key) => this.#get(database, key),
    }
    this.models = new LmdbModelRecords(databases, access)
    this.expiry = new LmdbExpiry(databases, access, (cycleId) => this.#positionOf(cycleId))
    this.#images = new LmdbImages(databases, access)
    this.#weightsAndOutcomes = new LmdbWeightsAndOutcomes(databases, access)
    this.#lastSeen = [...databases.cycles.getKeys({ reverse: true, limit: 1 })][0] ?? 0
  }

  // ---- cycles

  async appendCycle(record: CycleRecord): Promise<Position> {
    const idKey = cycleIdKey(record.cycleId)
    if (idKey === undefined) throw new TypeError(`not a cycle id: ${record.cycleId}`)
    const arena = this.#arenas.acquire()
    try {
      const position = await this.#append(idKey, record.cycleId, packCycle(record, arena))
      this.#lastSeen = Math.max(this.#lastSeen, position)
      for (const known of this.#unconfirmed.keys()) if (known <= position) this.#unconfirmed.delete(known)
      return position
    } finally {
      arena.release()
    }
  }

  #append(idKey: Uint8Array, cycleId: string, cycle: PackedCycle): Promise<Position> {
    const { header, request, response, entered, left, availability, pool, texts } = cycle
    const textRecords = texts.map((text) => text.record)
    const bytes = bytesOf(header, request, response, entered, left, availability, pool, ...textRecords)
    const db = this.#db
    const append = (free: Position): Position => {
      if (db.cycleIds.doesExist(idKey)) throw new StoreError('exists', `cycle ${cycleId} is stored already`)
      assert(!db.responses.doesExist(free), 'a position without a cycle has no response')
      this.#unconfirmed.set(free, cycleId)
      db.requests.putSync(free, request)
      db.responses.putSync(free, response)
      if (entered !== null) db.entered.putSync(free, entered)
      if (left !== null) db.left.putSync(free, left)
      if (availability !== null) db.availability.putSync(free, availability)
      db.pool.putSync(poolKey, pool)
      for (const { key, record: text } of texts) db.embeddings.putSync(key, text)
      db.cycleIds.putSync(idKey, records.packPosition(free))
      db.cycles.putSync(free, header)
      return free
    }
    return this.#write(bytes, append, true)
  }

  findCycle(cycleId: string): StoredCycle | undefined {
    const position = this.#positionOf(cycleId)
    const cycle = position === undefined ? undefined : this.#readCycle(position)
    // Keys have no checksum: a damaged key must not return another cycle.
    if (cycle !== undefined && cycle.cycleId !== cycleId)
      throw new StoreError('unusable', `the id ${cycleId} leads to the cycle ${cycle.cycleId}`)
    return cycle
  }

  lastCycle(): StoredCycle | undefined {
    this.#checkOpen()
    return this.#readCycle(this.#nextPosition() - 1)
  }

  readRequest(position: Position): StoredRequest | undefined {
    const record = this.#get(this.#db.requests, position)
    return record && records.readStoredRequest(record)
  }

  readResponse(cycleId: string): Uint8Array | undefined {
    const position = this.#positionOf(cycleId)
    const record = position === undefined ? undefined : this.#get(this.#db.responses, position)
    return record && records.readBytes(record, 'response')
  }

  *tail(position: Position): Generator<StoredCycle, void, undefined> {
    for (let next = Math.max(this.#firstPosition(), position); ; next++) {
      const cycle = this.#readCycle(next)
      if (cycle === undefined) return
      yield cycle
    }
  }

  readEntered(position: Position): Uint8Array | undefined {
    const record = this.#get(this.#db.entered, position)
    return record && records.readBytes(record, 'columns of entered posts')
  }

  readLeft(position: Position): Uint8Array | undefined {
    const record = this.#get(this.#db.left, position)
    return record && records.readBytes(record, 'columns of posts that left')
  }

  readAvailability(position: Position): Uint8Array | undefined {
    const record = this.#get(this.#db.availability, position)
    return record && records.readBytes(record, 'availability')
  }

  readPool(): Uint8Array | undefined {
    const record = this.#get(this.#db.pool, poolKey)
    return record && records.readBytes(record, 'pool')
  }

  // ---- images

  putImage(key: ImageKey, image: StoredImage): Promise<PutImageResult> {
    return this.#images.putImage(key, image)
  }

  findImage(key: ImageKey): StoredImage | undefined {
    return this.#images.findImage(key)
  }

  readImageHash(key: ImageKey): Uint8Array | undefined {
    return this.#images.readImageHash(key)
  }

  imagePositions(gallId: string, postNo: number): number[] {
    return this.#images.imagePositions(gallId, postNo)
  }

  imageKeys(): Iterable<ImageKey> {
    return this.#images.imageKeys()
  }

  // ---- weights and outcomes

  appendWeights(entry: WeightsEntry): Promise<void> {
    return this.#weightsAndOutcomes.appendWeights(entry)
  }

  listWeights(): WeightsEntry[] {
    return this.#weightsAndOutcomes.listWeights()
  }

  putOutcomes(entries: readonly OutcomeEntry[]): Promise<{ created: number; updated: number }> {
    return this.#weightsAndOutcomes.putOutcomes(entries)
  }

  readOutcome(placementId: string): Uint8Array | undefined {
    return this.#weightsAndOutcomes.readOutcome(placementId)
  }

  // ---- health and closing

  get healthy(): boolean {
    return this.#writer.healthy
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#writer.idle()
    await this.#db.root.close()
    await this.#onClosed()
  }

  // ---- shared by the parts

  /** `apply` gets the position of the next cycle. */
  async #write<T>(bytes: number, apply: (next: Position) => T, isCycle = false): Promise<T> {
    this.#checkOpen()
    const run = (): T => {
      const next = this.#nextPosition()
      this.#writer.checkRunning()
      return apply(next)
    }
    return this.#writer.run(bytes, run, isCycle)
  }

  /**
   * The first position that neither a commit nor the current transaction has taken. A cycle there that this process did
   * not write stops all writes: its candidates are missing from the pool in memory, and from every later pool record.
   */
  #nextPosition(): Position {
    for (let position = this.#lastSeen + 1; ; position++) {
      // Also while the store closes: it waits for writes under way.
      const record = this.#read(this.#db.cycles, position)
      if (record === undefined) return position
      const found = records.readHeader(record)
      // A write that was reported as failed may have reached the disk.
      if (this.#unconfirmed.get(position) === found.cycleId) continue
      this.#writer.stop(
        new StoreError(
          'failed',
          `another process has stored the cycle ${found.cycleId} at position ${position}; ` +
            'stop the other process, then restart this one',
        ),
      )
      return position
    }
  }

  /** A copy of a record, or undefined. */
  #get<K extends number | Uint8Array>(
    database: { getBinary(key: K): Uint8Array | undefined },
    key: K,
  ): Uint8Array | undefined {
    this.#checkOpen()
    return this.#read(database, key)
  }

  #read<K extends number | Uint8Array>(
    database: { getBinary(key: K): Uint8Array | undefined },
    key: K,
  ): Uint8Array | undefined {
    try {
      return database.getBinary(key)
    } catch (error) {
      throw new StoreError('failed', `the storage cannot be read: ${describe(error)}`, { cause: error })
    }
  }

  #positionOf(cycleId: string): Position | undefined {
    const key = cycleIdKey(cycleId)
    const record = key === undefined ? undefined : this.#get(this.#db.cycleIds, key)
    return record && records.readPosition(record)
  }

  #readCycle(position: Position): StoredCycle | undefined {
    const record = this.#get(this.#db.cycles, position)
    return record && { position, ...records.readHeader(record) }
  }

  /** The oldest position that is stored; earlier ones may have expired. */
  #firstPosition(): Position {
    this.#checkOpen()
    return [...this.#db.cycles.getKeys({ limit: 1 })][0] ?? 1
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
}

/** The records of one cycle, except that of its id. They lie in an arena. */
interface PackedCycle {
  readonly header: Uint8Array
  readonly request: Uint8Array
  readonly response: Uint8Array
  readonly entered: Uint8Array | null
  readonly left: Uint8Array | null
  readonly availability: Uint8Array | null
  readonly pool: Uint8Array
  readonly texts: readonly { readonly key: Uint8Array; readonly record: Uint8Array }[]
}

function packCycle(record: CycleRecord, arena: Arena): PackedCycle {
  const { request, response, entered, left, availability = null, pool, texts } = record
  return {
    header: records.packHeader(record),
    request: records.packRequest(request, arena),
    response: records.packBytes(response, arena),
    entered: entered && records.packBytes(entered, arena),
    left: left && records.packBytes(left, arena),
    availability: availability && records.packBytes(availability, arena),
    pool: records.packBytes(pool, arena),
    texts: texts ? packEmbeddings(texts.encoder, texts.entries) : [],
  }
}
