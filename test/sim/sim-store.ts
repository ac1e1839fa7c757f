/**
 * A store on simulated hardware. Its contents survive a crash. Every write is an event, and the seed decides its outcome:
 * done immediately, done late, refused, done but reported as failed, or a crash before or after it is done. Writes are atomic
 * and ordered, as the store's interface requires.
 */
import type { WeightsSetting } from '../../src/pool/index.js'
import { memoryStore } from '../helpers/memory-store.js'
import { StoreError, type Store } from '../../src/store/index.js'
import type {
  CycleContents,
  Embedding,
  ExpiryRecords,
  ImageArrival,
  ImageKey,
  ModelRecords,
  OutcomeEntry,
  Position,
  StoredImage,
} from '../../src/store/index.js'
import type { Scheduler } from './scheduler.js'
import type { SimDisk } from './sim-disk.js'
import { simExpiry } from './sim-expiry.js'

export type WriteFate = 'done' | 'slow' | 'refused' | 'late failure' | 'crash before' | 'crash after'

export interface SimStoreParts {
  readonly disk: SimDisk
  readonly scheduler: Scheduler
  /** Incarnation of the service that uses the store. */
  readonly incarnation: number
  readonly fate: (isRemoval: boolean) => WriteFate
  readonly crash: () => void
  /** Called for a fault that may make a call end with 503. */
  readonly onFault: () => void
  /** Called when a write has reached the disk. */
  readonly stored: (write: StoredWrite) => void
}

export type StoredWrite =
  | { readonly kind: 'cycle'; readonly position: Position }
  | { readonly kind: 'weights'; readonly entry: WeightsSetting }
  | {
      readonly kind: 'shadow'
      readonly position: Position
      readonly modelVersion: string
      readonly scores: Uint8Array
    }
  | {
      readonly kind: 'cycles removed'
      readonly cycles: readonly { readonly position: Position; readonly keepEntry: boolean }[]
    }
  | { readonly kind: 'entries removed'; readonly positions: readonly Position[] }
  | { readonly kind: 'records removed'; readonly positions: readonly Position[] }
  | { readonly kind: 'images removed'; readonly images: readonly ImageArrival[] }
  | { readonly kind: 'outcomes removed'; readonly outcomes: readonly OutcomeEntry[] }
  | { readonly kind: 'saved pool' }
  | { readonly kind: 'other' }

export class SimStore implements Store {
  readonly #parts: SimStoreParts
  readonly #memory: Store
  readonly models: ModelRecords
  readonly expiry: ExpiryRecords
  #healthy = true
  #writing = 0

  constructor(parts: SimStoreParts) {
    this.#parts = parts
    this.#memory = memoryStore({ contents: parts.disk.contents })
    this.expiry = simExpiry(this.#memory, (label, apply, stored) => this.#write(label, apply, stored))
    const { models } = this.#memory
    this.models = {
      putEmbeddings: (encoder, entries) => {
        const copies = entries.map(({ key, vector }): Embedding => ({
          key: key.slice(),
          vector: vector.slice(),
        }))
        return this.#write('embeddings', () => models.putEmbeddings(encoder, copies), other)
      },
      readEmbedding: (encoder, key) => models.readEmbedding(encoder, key),
      putShadowScores: (position, modelVersion, bytes) => {
        const scores = bytes.slice()
        return this.#write(
          `shadow ${modelVersion} at ${position}`,
          () => models.putShadowScores(position, modelVersion, scores),
          () => ({ kind: 'shadow', position, modelVersion, scores }),
        )
      },
      readShadowScores: (position, modelVersion) => models.readShadowScores(position, modelVersion),
      shadowVersions: (position) => models.shadowVersions(position),
      claimVersion: (version, identity) =>
        this.#write('claim', () => models.claimVersion(version, identity), other),
      readIdentity: (version) => models.readIdentity(version),
    }
  }

  get replication(): Store['replication'] {
    return this.#memory.replication
  }

  get role(): Store['role'] {
    return this.#memory.role
  }

  get mayWrite(): boolean {
    return this.#memory.mayWrite
  }

  onFollowed(): void {
    // Nobody else writes.
  }

  /** Writes that have not settled. */
  get writing(): number {
    return this.#writing
  }

  appendCycle(cycle: CycleContents): Promise<Position> {
    const copy = copyOf(cycle)
    return this.#write(
      `cycle ${cycle.cycleId}`,
      () => this.#memory.appendCycle(copy),
      (position) => ({ kind: 'cycle', position }),
    )
  }

  savePool(position: Position, saved: Uint8Array, kept?: Position): Promise<void> {
    const copy = saved.slice()
    return this.#write(
      `pool at ${position}`,
      () => this.#memory.savePool(position, copy, kept),
      () => ({
        kind: 'saved pool',
      }),
    )
  }

  putImage(key: ImageKey, image: StoredImage): ReturnType<Store['putImage']> {
    return this.#write('image', () => this.#memory.putImage(key, image), other)
  }

  confirmImage(key: ImageKey, sha256: Uint8Array): Promise<boolean> {
    return this.#write('image', () => this.#memory.confirmImage(key, sha256), other)
  }

  appendWeights(number: number, entry: WeightsSetting): Promise<void> {
    const copy = structuredClone(entry)
    return this.#write(
      `weights ${entry.version}`,
      () => this.#memory.appendWeights(number, copy),
      () => ({ kind: 'weights', entry: copy }),
    )
  }

  putOutcomes(entries: readonly OutcomeEntry[]): ReturnType<Store['putOutcomes']> {
    return this.#write('outcomes', () => this.#memory.putOutcomes(entries), other)
  }

  #write<Result>(
    label: string,
    apply: () => Promise<Result>,
    stored: (result: Result) => StoredWrite,
  ): Promise<Result> {
    const { scheduler, incarnation, fate, crash, onFault } = this.#parts
    if (this.closed) return Promise.reject(new StoreError('closed', 'the store is closed'))
    this.#writing++
    return new Promise<Result>((resolve, reject) => {
      const fail = (message: string): void => {
        this.#writing--
        this.#healthy = false
        onFault()
        reject(new StoreError('failed', message))
      }
      const end = (chosen: WriteFate, result: Result): void => {
        this.#parts.stored(stored(result))
        if (chosen === 'crash after') {
          crash()
          return
        }
        const delaySteps = chosen === 'slow' ? scheduler.random.below(15) : 0
        scheduler.add({ label: `flushed ${label}`, incarnation, queue: 'flushed', delaySteps }, () => {
          if (chosen === 'late failure') {
            fail('failed after it was stored')
            return
          }
          this.#writing--
          this.#healthy = true
          resolve(result)
        })
      }
      scheduler.add({ label: `write ${label}`, incarnation, queue: 'write' }, () => {
        const chosen = fate(label.startsWith('removal'))
        if (chosen !== 'done') scheduler.note(chosen)
        if (chosen === 'crash before') crash()
        else if (chosen === 'refused') fail('simulated failure')
        else apply().then((result) => end(chosen, result), reject)
      })
    })
  }

  // ---- reads

  findCycle = (cycleId: string): ReturnType<Store['findCycle']> => this.#memory.findCycle(cycleId)
  hasCycle = (position: Position): boolean => this.#memory.hasCycle(position)
  lastCycle = (): ReturnType<Store['lastCycle']> => this.#memory.lastCycle()
  readRequest = (position: Position): ReturnType<Store['readRequest']> => this.#memory.readRequest(position)
  readResponse = (cycleId: string): ReturnType<Store['readResponse']> => this.#memory.readResponse(cycleId)
  tail = (position: Position): ReturnType<Store['tail']> => this.#memory.tail(position)
  readRecord = (position: Position): ReturnType<Store['readRecord']> => this.#memory.readRecord(position)
  recordedCycles = (): ReturnType<Store['recordedCycles']> => this.#memory.recordedCycles()
  hashes = (position: Position): ReturnType<Store['hashes']> => this.#memory.hashes(position)
  chainStart = (): ReturnType<Store['chainStart']> => this.#memory.chainStart()
  chainLinks = (): ReturnType<Store['chainLinks']> => this.#memory.chainLinks()
  chainHead = (): ReturnType<Store['chainHead']> => this.#memory.chainHead()
  savedPools = (): Position[] => this.#memory.savedPools()
  readSavedPool = (position: Position): ReturnType<Store['readSavedPool']> =>
    this.#memory.readSavedPool(position)
  findImage = (key: ImageKey): ReturnType<Store['findImage']> => this.#memory.findImage(key)
  readImageHash = (key: ImageKey): ReturnType<Store['readImageHash']> => this.#memory.readImageHash(key)
  imagePositions = (gallId: string, postNo: number): number[] => this.#memory.imagePositions(gallId, postNo)
  imageKeys = (): Iterable<ImageKey> => this.#memory.imageKeys()
  listWeights = (): ReturnType<Store['listWeights']> => this.#memory.listWeights()
  readOutcome = (placementId: string): ReturnType<Store['readOutcome']> =>
    this.#memory.readOutcome(placementId)
  outcomes = (): ReturnType<Store['outcomes']> => this.#memory.outcomes()

  get healthy(): boolean {
    return this.#healthy
  }

  get queuedWrites(): number {
    return this.#memory.queuedWrites
  }

  get closed(): boolean {
    return this.#memory.closed
  }

  close(): Promise<void> {
    return this.#memory.close()
  }
}

function other(): StoredWrite {
  return { kind: 'other' }
}

/** A copy that shares no memory with `cycle`. */
function copyOf(cycle: CycleContents): CycleContents {
  const { request, response, record, texts } = cycle
  const entries = texts?.entries.map(({ key, vector }) => ({ key: key.slice(), vector: vector.slice() }))
  return {
    ...cycle,
    request: { ...request, bytes: request.bytes.slice() },
    response: response.slice(),
    record: record.slice(),
    texts: texts ? { encoder: texts.encoder, entries: entries ?? [] } : null,
  }
}
