/**
 * The store in memory, for simulation and for tests that want storage to fail on purpose. Bytes are copied in and
 * out, as LMDB does, so that nobody can lean on sharing them.
 */
import { StoreError } from './store-error.js'
import type {
  CycleRecord,
  ImageKey,
  OutcomeEntry,
  Position,
  PutImageResult,
  Store,
  StoredCycle,
  StoredImage,
  StoredRequest,
  WeightsEntry,
} from './store.js'

export type WriteOperation = 'appendCycle' | 'putImage' | 'appendWeights' | 'putOutcomes'

export interface MemoryStoreOptions {
  /** Runs before a write changes anything; what it throws, the write rejects with, and nothing is stored. */
  readonly beforeWrite?: (operation: WriteOperation) => void | Promise<void>
  /** What a disk would hold: given to a second store, it stands for a restart. */
  readonly contents?: MemoryContents
}

/** Opaque; made by `createMemoryContents`. */
export interface MemoryContents {
  /** Position `p` stands at index `p - 1`. */
  readonly cycles: CycleRecord[]
  readonly positions: Map<string, Position>
  readonly images: Map<string, { readonly key: ImageKey; readonly image: StoredImage }>
  readonly weights: WeightsEntry[]
  readonly outcomes: Map<string, Uint8Array>
}

export function createMemoryContents(): MemoryContents {
  return { cycles: [], positions: new Map(), images: new Map(), weights: [], outcomes: new Map() }
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
  #healthy = true

  constructor(options: MemoryStoreOptions) {
    this.#beforeWrite = options.beforeWrite ?? (() => undefined)
    this.#contents = options.contents ?? createMemoryContents()
  }

  // ---- cycles

  async appendCycle(record: CycleRecord): Promise<Position> {
    const copy = copyCycle(record)
    return this.#write('appendCycle', () => {
      const { cycles, positions } = this.#contents
      if (positions.has(copy.cycleId))
        throw new StoreError('exists', `cycle ${copy.cycleId} is stored already`)
      const position = cycles.push(copy)
      positions.set(copy.cycleId, position)
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

  readPool(): Uint8Array | undefined {
    return this.#recordAt(this.#contents.cycles.length)?.pool.slice()
  }

  // ---- images

  async putImage(key: ImageKey, image: StoredImage): Promise<PutImageResult> {
    const copy = { key: { ...key }, image: copyImage(image) }
    return this.#write('putImage', () => {
      const { images } = this.#contents
      const stored = images.get(imageName(key))
      if (stored !== undefined)
        return Buffer.compare(stored.image.sha256, copy.image.sha256) === 0 ? 'same' : 'different'
      images.set(imageName(key), copy)
      return 'created'
    })
  }

  findImage(key: ImageKey): StoredImage | undefined {
    this.#checkOpen()
    const stored = this.#contents.images.get(imageName(key))
    return stored && copyImage(stored.image)
  }

  *imageKeys(): Generator<ImageKey, void, undefined> {
    this.#checkOpen()
    for (const { key } of this.#contents.images.values()) yield { ...key }
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
    return this.#healthy
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
      () => (this.#healthy = true),
      () => (this.#healthy = false),
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

function imageName(key: ImageKey): string {
  return JSON.stringify([key.gallId, key.postNo, key.position])
}

function copyCycle(record: CycleRecord): CycleRecord {
  return {
    cycleId: record.cycleId,
    cycleAtMs: record.cycleAtMs,
    receivedAt: record.receivedAt,
    modelVersion: record.modelVersion,
    weightsVersion: record.weightsVersion,
    request: { ...record.request, bytes: new Uint8Array(record.request.bytes) },
    response: new Uint8Array(record.response),
    entered: record.entered && new Uint8Array(record.entered),
    left: record.left && new Uint8Array(record.left),
    pool: new Uint8Array(record.pool),
  }
}

function copyImage(image: StoredImage): StoredImage {
  return { ...image, sha256: new Uint8Array(image.sha256), normalised: new Uint8Array(image.normalised) }
}
