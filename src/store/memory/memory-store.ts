/**
 * The store in memory: for the warm-up, for simulation, and for tests in which storage fails on purpose. It copies bytes
 * in and out, as LMDB does.
 */
import { isFresh } from '../image-age.js'
import { StoreError } from '../store-error.js'
import type {
  CycleRecord,
  Embedding,
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

export type WriteOperation =
  | 'appendCycle'
  | 'putImage'
  | 'appendWeights'
  | 'putOutcomes'
  | 'putEmbeddings'
  | 'putShadowScores'
  | 'claimVersion'

export interface MemoryStoreOptions {
  /** Runs before a write changes anything; what it throws, the write rejects with, and nothing is stored. */
  readonly beforeWrite?: (operation: WriteOperation) => void | Promise<void>
  /** What a disk would hold. A second store with the same contents simulates a restart. */
  readonly contents?: MemoryContents
}

/** Opaque; made by `createMemoryContents`. */
export interface MemoryContents {
  /** Position `p` has index `p - 1`. */
  readonly cycles: CycleRecord[]
  readonly positions: Map<string, Position>
  readonly images: Map<string, { readonly key: ImageKey; readonly image: StoredImage }>
  readonly weights: WeightsEntry[]
  readonly outcomes: Map<string, Uint8Array>
  readonly embeddings: Map<string, Float32Array>
  readonly shadowScores: Map<string, Uint8Array>
  readonly modelVersions: Map<string, string>
}

export function createMemoryContents(): MemoryContents {
  return {
    cycles: [],
    positions: new Map(),
    images: new Map(),
    weights: [],
    outcomes: new Map(),
    embeddings: new Map(),
    shadowScores: new Map(),
    modelVersions: new Map(),
  }
}

export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options)
}

class MemoryStore implements Store {
  readonly #beforeWrite: (operation: WriteOperation) => void | Promise<void>
  readonly #contents: MemoryContents
  /** Settles after the last write that was begun: writes happen one after the other. */
  #lastWrite: Promise<unknown> = Promise.resolve()
  #closed = false
  /** The operation that was refused last, until it or `appendCycle` succeeds. */
  #refused: WriteOperation | null = null

  constructor(options: MemoryStoreOptions) {
    this.#beforeWrite = options.beforeWrite ?? (() => undefined)
    this.#contents = options.contents ?? createMemoryContents()
  }

  // ---- cycles

  async appendCycle(record: CycleRecord): Promise<Position> {
    const cycle = copyCycle(record)
    return this.#write('appendCycle', () => {
      const { cycles, positions } = this.#contents
      if (positions.has(cycle.cycleId))
        throw new StoreError('exists', `cycle ${cycle.cycleId} is stored already`)
      const position = cycles.push(cycle)
      this.#keepEmbeddings(cycle.texts?.encoder ?? '', cycle.texts?.entries ?? [])
      positions.set(cycle.cycleId, position)
      return position
    })
  }

  findCycle(cycleId: string): StoredCycle | undefined {
    this.#checkOpen()
    const position = this.#contents.positions.get(cycleId)
    return position === undefined ? undefined : this.#readCycle(position)
  }

  lastCycle(): StoredCycle | undefined {
    return this.#readCycle(this.#contents.cycles.length)
  }

  readRequest(position: Position): StoredRequest | undefined {
    const request = this.#recordAt(position)?.request
    return request && { ...request, bytes: request.bytes.slice() }
  }

  readResponse(cycleId: string): Uint8Array | undefined {
    return this.#recordAt(this.#contents.positions.get(cycleId) ?? 0)?.response.slice()
  }

  *tail(position: Position): Generator<StoredCycle, void, undefined> {
    for (let next = Math.max(1, position); ; next++) {
      const cycle = this.#readCycle(next)
      if (cycle === undefined) return
      yield cycle
    }
  }

  readEntered(position: Position): Uint8Array | undefined {
    return this.#recordAt(position)?.entered?.slice()
  }

  readLeft(position: Position): Uint8Array | undefined {
    return this.#recordAt(position)?.left?.slice()
  }

  readAvailability(position: Position): Uint8Array | undefined {
    return this.#recordAt(position)?.availability?.slice()
  }

  readPool(): Uint8Array | undefined {
    return this.#recordAt(this.#contents.cycles.length)?.pool.slice()
  }

  // ---- images

  async putImage(key: ImageKey, image: StoredImage): Promise<PutImageResult> {
    this.#checkOpen()
    const name = imageName(key)
    const { images } = this.#contents
    const { arrivedAtMs = Date.now() } = image
    const copy = { key: { ...key }, image: { ...copyImage(image), arrivedAtMs } }
    const { sha256 } = copy.image
    const known = images.get(name)?.image
    if (known !== undefined && isFresh(known, sha256, arrivedAtMs)) return 'same'
    return this.#write('putImage', () => {
      const stored = images.get(name)
      if (stored === undefined) {
        images.set(name, copy)
        return 'created'
      }
      if (Buffer.compare(stored.image.sha256, sha256) !== 0) return 'different'
      if (!isFresh(stored.image, sha256, arrivedAtMs))
        images.set(name, { ...stored, image: { ...stored.image, arrivedAtMs } })
      return 'same'
    })
  }

  findImage(key: ImageKey): StoredImage | undefined {
    this.#checkOpen()
    const stored = this.#contents.images.get(imageName(key))
    if (stored === undefined) return undefined
    const { sha256, uploadedBytes, width, height, normalised } = copyImage(stored.image)
    return { sha256, uploadedBytes, width, height, normalised }
  }

  readImageHash(key: ImageKey): Uint8Array | undefined {
    return this.findImage(key)?.sha256
  }

  *imageKeys(): Generator<ImageKey, void, undefined> {
    this.#checkOpen()
    for (const { key } of this.#contents.images.values()) yield { ...key }
  }

  // ---- models

  readonly models: ModelRecords = {
    putEmbeddings: async (encoder, entries) => {
      const copies = copyEmbeddings(entries)
      return this.#write('putEmbeddings', () => this.#keepEmbeddings(encoder, copies))
    },
    readEmbedding: (encoder, key) => {
      this.#checkOpen()
      return this.#contents.embeddings.get(embeddingName(encoder, key))?.slice()
    },
    putShadowScores: async (position, modelVersion, scores) => {
      const copy = new Uint8Array(scores)
      return this.#write(
        'putShadowScores',
        () => void this.#contents.shadowScores.set(JSON.stringify([position, modelVersion]), copy),
      )
    },
    readShadowScores: (position, modelVersion) => {
      this.#checkOpen()
      return this.#contents.shadowScores.get(JSON.stringify([position, modelVersion]))?.slice()
    },
    claimVersion: async (modelVersion, identity) =>
      this.#write('claimVersion', () => {
        const known = this.#contents.modelVersions.get(modelVersion)
        if (known === undefined) this.#contents.modelVersions.set(modelVersion, identity)
        return known ?? identity
      }),
    readIdentity: (modelVersion) => {
      this.#checkOpen()
      return this.#contents.modelVersions.get(modelVersion)
    },
  }

  #keepEmbeddings(encoder: string, entries: readonly Embedding[]): void {
    for (const { key, vector } of entries) this.#contents.embeddings.set(embeddingName(encoder, key), vector)
  }

  // ---- weights and outcomes

  async appendWeights(entry: WeightsEntry): Promise<void> {
    const copy = structuredClone(entry)
    return this.#write('appendWeights', () => void this.#contents.weights.push(copy))
  }

  listWeights(): WeightsEntry[] {
    this.#checkOpen()
    return structuredClone(this.#contents.weights)
  }

  async putOutcomes(entries: readonly OutcomeEntry[]): Promise<{ created: number; updated: number }> {
    const copies = entries.map(({ placementId, record }) => ({ placementId, record: new Uint8Array(record) }))
    return this.#write('putOutcomes', () => {
      const { outcomes } = this.#contents
      const countBefore = outcomes.size
      for (const { placementId, record } of copies) outcomes.set(placementId, record)
      const created = outcomes.size - countBefore
      return { created, updated: copies.length - created }
    })
  }

  readOutcome(placementId: string): Uint8Array | undefined {
    this.#checkOpen()
    return this.#contents.outcomes.get(placementId)?.slice()
  }

  imagePositions(gallId: string, postNo: number): number[] {
    return Array.from(this.imageKeys())
      .filter((key) => key.gallId === gallId && key.postNo === postNo)
      .map((key) => key.position)
      .sort((a, b) => a - b)
  }

  get healthy(): boolean {
    return this.#refused === null
  }

  get closed(): boolean {
    return this.#closed
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#lastWrite
  }

  // ---- what all of them use

  async #write<T>(operation: WriteOperation, apply: () => T): Promise<T> {
    this.#checkOpen()
    const write = this.#lastWrite.then(async () => {
      await this.#beforeWrite(operation)
      return apply()
    })
    this.#lastWrite = write.then(
      () => {
        if (operation === 'appendCycle' || operation === this.#refused) this.#refused = null
      },
      () => {
        if (this.#refused !== 'appendCycle') this.#refused = operation
      },
    )
    return write
  }

  #recordAt(position: Position): CycleRecord | undefined {
    this.#checkOpen()
    return this.#contents.cycles[position - 1]
  }

  #readCycle(position: Position): StoredCycle | undefined {
    const record = this.#recordAt(position)
    if (record === undefined) return undefined
    const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = record
    return { position, cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store is closed')
  }
}

function embeddingName(encoder: string, key: Uint8Array): string {
  return `${encoder}/${Buffer.from(key).toString('hex')}`
}

function copyEmbeddings(entries: readonly Embedding[]): Embedding[] {
  return entries.map(({ key, vector }) => ({ key: new Uint8Array(key), vector: new Float32Array(vector) }))
}

function imageName(key: ImageKey): string {
  return JSON.stringify([key.gallId, key.postNo, key.position])
}

/** A copy that shares no memory with `record`. */
export function copyCycle(record: CycleRecord): CycleRecord {
  const { request, response, entered, left, availability, pool, texts } = record
  return {
    ...record,
    request: { ...request, bytes: new Uint8Array(request.bytes) },
    response: new Uint8Array(response),
    entered: entered && new Uint8Array(entered),
    left: left && new Uint8Array(left),
    availability: availability ? new Uint8Array(availability) : null,
    pool: new Uint8Array(pool),
    texts: texts ? { encoder: texts.encoder, entries: copyEmbeddings(texts.entries) } : null,
  }
}

function copyImage(image: StoredImage): StoredImage {
  return { ...image, sha256: new Uint8Array(image.sha256), normalised: new Uint8Array(image.normalised) }
}
