/**
 * The store on LMDB. One environment, one transaction per write, one process per data directory.
 * Cycles stand here; all else is handed on to a file of its own. Read `putImage` of lmdb-images.ts first: all writes but
 * one have its shape. `appendCycle`, the large one, leaves the puts to LMDB's thread.
 */
import type { BytesInUse } from './bytes-in-use.js'
import type { Databases } from './databases.js'
import type { DirectoryLock } from './directory-lock.js'
import type { HeadRoom } from './head-room.js'
import { cycleIdKey } from './keys.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import { NewestCycle } from './newest-cycle.js'
import * as records from './records.js'
import { describe, StoreError } from './store-error.js'
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
} from './store.js'
import { diskBytesFree } from './disk-room.js'
import { LmdbExpiry } from './expiry.js'
import { LmdbImages } from './lmdb-images.js'
import { LmdbModelRecords, packEmbeddings } from './lmdb-model-records.js'
import { LmdbWeightsAndOutcomes } from './lmdb-weights-and-outcomes.js'
import { Writer } from './writer.js'

/** Key of the one record in `pool`. */
const poolKey = 0

/** What is kept up with each commit. */
export interface FileUpkeep {
  readonly bytesInUse: BytesInUse
  readonly headRoom: Pick<HeadRoom, 'committed' | 'close'>
}

/** Made by `openLmdbStore`, and by `openSnapshot` for reading. */
export class LmdbStore implements Store {
  readonly models: ModelRecords
  readonly expiry: ExpiryRecords
  readonly #images: LmdbImages
  readonly #weightsAndOutcomes: LmdbWeightsAndOutcomes
  readonly #db: Databases
  readonly #lock: DirectoryLock
  readonly #writer: Writer
  readonly #upkeep: FileUpkeep
  readonly #newest = new NewestCycle(() => this.#greatestId())
  /** No committed position is lower; those after it are found by looking. */
  #lastSeen: Position
  #closing: Promise<void> | undefined

  constructor(
    dataDir: string,
    databases: Databases,
    lock: DirectoryLock,
    upkeep: FileUpkeep,
    options: { mapBytesMax: number; waitingBytesMax: number },
  ) {
    this.#db = databases
    this.#lock = lock
    this.#upkeep = upkeep
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
        bytesInUse: () => upkeep.bytesInUse.now(),
        commitEnded: (stored) => {
          upkeep.bytesInUse.commitEnded()
          if (!stored) return
          upkeep.headRoom.committed()
        },
        diskBytesFree: () => diskBytesFree(dataDir),
      },
      { bytesMax: options.mapBytesMax, waitingBytesMax: options.waitingBytesMax },
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
    this.#checkOpen()
    const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = record
    const labels = { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }
    const idKey = cycleIdKey(cycleId)
    if (idKey === undefined) throw new TypeError(`not a cycle id: ${cycleId}`)
    const packed = packCycle(record)
    const { header, request, response, entered, left, pool, texts } = packed
    const textRecords = texts.map((text) => text.record)
    const db = this.#db
    const bytes = bytesOf(header, request, response, entered, left, pool, ...textRecords)
    const position = await this.#writer.insert(bytes, () => {
      const free = this.#freePosition()
      if (this.#newest.mayHave(cycleId) && db.cycleIds.getBinary(idKey) !== undefined)
        throw new StoreError('exists', `cycle ${cycleId} is stored already`)
      const isStored = this.#newest.insert(cycleId)
      // Positions have no gaps: while this one is free, no cycle has been stored since the id was looked up.
      const inserted = db.cycles.ifNoExists(free, () => {
        void db.requests.put(free, request)
        void db.responses.put(free, response)
        if (entered !== null) void db.entered.put(free, entered)
        if (left !== null) void db.left.put(free, left)
        void db.pool.put(poolKey, pool)
        for (const { key, record: text } of texts) void db.embeddings.put(key, text)
        void db.cycleIds.put(idKey, records.packPosition(free))
        void db.cycles.put(free, header)
      })
      return inserted.then((stored) => {
        if (!stored) throw new StoreError('failed', `another process has stored a cycle at position ${free}`)
        isStored({ position: free, ...labels })
        return free
      })
    })
    this.#lastSeen = Math.max(this.#lastSeen, position)
    return position
  }

  findCycle(cycleId: string): StoredCycle | undefined {
    const position = this.#positionOf(cycleId)
    const cycle = position === undefined ? undefined : this.#readCycle(position)
    // Keys have no checksum: what stands under a damaged one must not be taken for the cycle that was asked for.
    if (cycle !== undefined && cycle.cycleId !== cycleId)
      throw new StoreError('unusable', `under cycle ${cycleId} stands ${cycle.cycleId}`)
    return cycle
  }

  lastCycle(): StoredCycle | undefined {
    this.#checkOpen()
    if (this.#newest.cycle !== undefined) return this.#newest.cycle
    while (this.#get(this.#db.cycles, this.#lastSeen + 1) !== undefined) this.#lastSeen++
    return this.#readCycle(this.#lastSeen)
  }

  readRequest(position: Position): StoredRequest | undefined {
    const record = this.#get(this.#db.requests, position)
    return record && records.readStoredRequest(record)
  }

  readResponse(cycleId: string): Uint8Array | undefined {
    const position = this.#positionOf(cycleId)
    if (position === undefined) return undefined
    const record = this.#get(this.#db.responses, position)
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
    await this.#upkeep.headRoom.close()
    await this.#db.root.close()
    await this.#lock.release()
  }

  // ---- what all of them use

  async #write<T>(bytes: number, apply: () => T): Promise<T> {
    this.#checkOpen()
    return this.#writer.run(bytes, apply)
  }

  /** A copy of a record, or undefined. */
  #get<K extends number | Uint8Array>(
    database: { getBinary(key: K): Uint8Array | undefined },
    key: K,
  ): Uint8Array | undefined {
    this.#checkOpen()
    return this.#reading(() => database.getBinary(key))
  }

  #reading<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw new StoreError('failed', `the storage cannot be read: ${describe(error)}`, { cause: error })
    }
  }

  #positionOf(cycleId: string): Position | undefined {
    this.#checkOpen()
    const key = cycleIdKey(cycleId)
    if (key === undefined || !this.#newest.mayHave(cycleId)) return undefined
    const record = this.#get(this.#db.cycleIds, key)
    return record && records.readPosition(record)
  }

  /** The last in order, which file-check.ts has seen to. */
  #greatestId(): string {
    const [key] = this.#reading(() => [...this.#db.cycleIds.getKeys({ reverse: true, limit: 1 })])
    return key === undefined ? '' : Buffer.from(key).toString('latin1')
  }

  #readCycle(position: Position): StoredCycle | undefined {
    const record = this.#get(this.#db.cycles, position)
    return record && { position, ...records.readHeader(record) }
  }

  /** Of the oldest cycle that is stored; earlier ones may have expired. */
  #firstPosition(): Position {
    this.#checkOpen()
    return [...this.#db.cycles.getKeys({ limit: 1 })][0] ?? 1
  }

  /** The first position that neither a commit nor the transaction under way has taken. */
  #freePosition(): Position {
    if (this.#newest.cycle !== undefined) return this.#newest.cycle.position + 1
    let position = this.#lastSeen + 1
    while (this.#db.cycles.doesExist(position)) position++
    return position
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('closed', 'the store is closed')
  }
}

/** The records of one cycle, except that of its id. */
interface PackedCycle {
  readonly header: Uint8Array
  readonly request: Uint8Array
  readonly response: Uint8Array
  readonly entered: Uint8Array | null
  readonly left: Uint8Array | null
  readonly pool: Uint8Array
  readonly texts: readonly { readonly key: Uint8Array; readonly record: Uint8Array }[]
}

function packCycle(record: CycleRecord): PackedCycle {
  const { request, response, entered, left, pool, texts } = record
  return {
    header: records.packHeader(record),
    request: records.packRequest(request),
    response: records.packBytes(response),
    entered: entered && records.packBytes(entered),
    left: left && records.packBytes(left),
    pool: records.packBytes(pool),
    texts: texts ? packEmbeddings(texts.encoder, texts.entries) : [],
  }
}
