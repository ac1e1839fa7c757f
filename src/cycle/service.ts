/**
 * Cycles from bytes to bytes: a call is let in, decoded, and answered as a repeat of another one or as a new cycle, which
 * waits in the lane for its turn. What becomes of it then stands in `cycle-line.ts`. Read `submit` first.
 */
import type { Codec } from '../codec/index.js'
import { ServiceError } from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import type { PoolState, WeightsSetting, WeightsToSet } from '../pool/index.js'
import type { ImageKey, Store, StoredCycle } from '../store/index.js'
import { Admission } from './admission.js'
import { CycleLine, type CycleCall } from './cycle-line.js'
import { EmbeddingDesk } from './embeddings/index.js'
import { letGo, type HeldCycle } from './held-cycle.js'
import { ImageCounts } from './image-counts.js'
import { Lane } from './lane.js'
import { checkMeaning } from './meaning.js'
import type { Place } from './places.js'
import { expired, Repeats } from './repeats.js'
import { packRequest, type RequestBody } from './request-body.js'
import { Retention, type RetentionLimits } from './retention.js'
import { ScoringModels } from './scoring-models.js'
import type { Shadows } from './shadows.js'
import type { StageClock } from './stage-clock.js'
import { statedCycleId } from './stated-id.js'
import { Turns } from './turns.js'
import { WeightsDesk, type InitialWeights } from './weights-desk.js'

/** What the service needs of its surroundings. */
export interface CycleServiceParts {
  readonly codec: Codec
  readonly store: Store
  /** The model in use, or null while none is loaded. */
  readonly model: () => Model | null
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Asked each time: they may change. */
  readonly limits: () => CycleLimits
  readonly initialWeights: InitialWeights
  /** For the texts of the posts that enter with one cycle. */
  readonly textEncodeMsMax: number
  /** Asked each time. Absent: nothing expires. */
  readonly retention?: () => RetentionLimits
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

export interface CycleLimits {
  /** How far in the future a `cycle_time` may be (decisions.md 4). */
  readonly clockSkewMs: number
  /** Cycles that wait for their turn behind the one under way. */
  readonly cyclesWaitingMax: number
}

const keepAll: RetentionLimits = { retainCyclesDays: 0, retainImagesDays: 0, retainOutcomesDays: 0 }

/** New settings of weights that may wait; they take a millisecond each. */
const weightsWaitingMax = 128
/** Bodies that may wait to be decoded. The server bounds their bytes. */
const decodesWaitingMax = 256

export class CycleService {
  readonly #parts: CycleServiceParts
  readonly images: ImageCounts
  readonly weights: WeightsDesk
  readonly retention: Retention
  readonly #embeddings: EmbeddingDesk
  readonly #line: CycleLine
  readonly #models: ScoringModels
  /** Cycles have a place before they come here. */
  readonly #lane = new Lane({ weights: weightsWaitingMax })
  readonly #decodes = new Turns(decodesWaitingMax)
  readonly #admission: Admission
  readonly #repeats: Repeats
  #submittedCount = 0
  #closing = false

  private constructor(parts: CycleServiceParts, weights: WeightsDesk) {
    const { codec, store, clock, model, textEncodeMsMax, log } = parts
    const images = new ImageCounts(store)
    const embeddings = new EmbeddingDesk(parts)
    const lane = this.#lane
    const line = new CycleLine({
      ...{ codec, store, clock, weights, images, embeddings, log },
      onStored: (stored) => {
        this.retention.wake()
        this.#models.afterwards(stored)
      },
    })
    const state = (): PoolState => line.state
    const ended = (): boolean => this.#closing
    this.#parts = parts
    this.images = images
    this.weights = weights
    this.#embeddings = embeddings
    this.#line = line
    this.#models = new ScoringModels({ store, embeddings, lane, model, state, ended, textEncodeMsMax, log })
    this.retention = new Retention({
      store,
      limits: parts.retention ?? (() => keepAll),
      state,
      hasTombstone: (gallId, postNo) => line.hasTombstone(gallId, postNo),
      idle: () => lane.isFree && !this.#closing,
      onImagesRemoved: (keys) => this.imagesRemoved(keys),
      log,
    })
    this.#admission = new Admission(store, () => parts.limits().cyclesWaitingMax)
    this.#repeats = new Repeats(store)
  }

  /** The service in the state that its store holds. */
  static async open(parts: CycleServiceParts): Promise<CycleService> {
    const weights = await WeightsDesk.open(parts.store, parts.initialWeights, parts.clock(), parts.log)
    const service = new CycleService(parts, weights)
    service.images.load().catch((error: unknown) => {
      parts.log.error({ err: error }, 'stored images cannot be counted ahead; each cycle asks the store')
    })
    return service
  }

  /** False while storage refuses writes, the service ends, or what the model says is no share. */
  get ready(): boolean {
    const { store, model } = this.#parts
    return store.healthy && !this.#closing && !this.#line.isWrong(model())
  }

  /** Bodies so far, good or bad. */
  get submittedCount(): number {
    return this.#submittedCount
  }

  get pendingCount(): number {
    return this.#line.state.count
  }

  get shadows(): Shadows {
    return this.#models.shadows
  }

  /**
   * The response to a cycle's body: computed, or the stored one when the cycle is known. Throws `ServiceError`:
   * 400, 409, 422, 503. `stages` is told what each stage took. Once it settles, nothing depends on `body`: what may
   * still be compressing or comparing it is of a cycle that failed, and is thrown away.
   */
  async submit(body: RequestBody, receivedAtMs: number, stages: StageClock): Promise<Uint8Array> {
    this.#submittedCount++
    const cycleId = statedCycleId(body.json)
    const known = cycleId === null ? null : await this.#repeats.sameBytes(cycleId, body.json)
    if (known !== null) return known
    if (this.#decodes.full) throw busy('too many cycles arrive at once')
    const place = this.#admission.placeFor(body.json, cycleId)
    try {
      return await this.#decode(body, receivedAtMs, stages, place)
    } finally {
      place?.leave()
    }
  }

  /** As `Admission.begin`, for the body of a cycle. */
  admit(start: Uint8Array, bytesMax: number): () => void {
    return this.#admission.begin(start, bytesMax)
  }

  async #decode(
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
    place: Place | null,
  ): Promise<Uint8Array> {
    await this.#decodes.next()
    // Before it is known whether the cycle is good or new: most are, and the other threads have nothing else to do now.
    const packing = packRequest(body)
    packing.catch(() => undefined) // Awaited when the cycle is stored; until then a failure is not unhandled.
    const cycle = await this.#parts.codec.readCycle(body.json)
    stages.lap('decode')
    const held: HeldCycle = { cycle, packing, readers: 1 }
    const call: PlacedCall = { held, json: body.json, receivedAtMs, stages, place }
    try {
      return await this.#answer(call)
    } finally {
      call.place?.leave()
      letGo(held)
    }
  }

  async #answer(call: PlacedCall): Promise<Uint8Array> {
    const { held, json, receivedAtMs } = call
    const { cycle } = held
    const problems = checkMeaning(cycle, { nowMs: receivedAtMs, skewMs: this.#parts.limits().clockSkewMs })
    if (problems !== null)
      throw problems.toError('unprocessable', 'the cycle is well-formed, but its times are wrong')
    if (this.#parts.store.findCycle(cycle.cycleId) !== undefined) {
      call.place?.leave()
      return this.#repeats.replay(cycle.cycleId, json)
    }
    if (this.#parts.store.expiry?.isExpired(cycle.cycleId) === true) throw expired(cycle.cycleId)
    const leader = this.#repeats.leader(cycle.cycleId)
    if (leader === undefined) return this.#lead(call)
    call.place?.leave()
    return this.#repeats.follow(leader, cycle.cycleId, json)
  }

  #lead(call: PlacedCall): Promise<Uint8Array> {
    this.#scoringModel()
    call.place = this.#admission.exchange(call.place, call.held.cycle.cycleId)
    const response = guarded(() =>
      this.#lane.run('cycle', () => this.#line.process(call, this.#scoringModel())),
    )
    this.#repeats.lead(call.held.cycle.cycleId, call.json, response)
    return response
  }

  /** For a cycle that would begin now. Throws `unavailable` where none may. */
  #scoringModel(): Model {
    if (this.#closing) throw closing()
    const model = this.#parts.model()
    if (model === null) throw new ServiceError('unavailable', 'no model is loaded')
    return model
  }

  /** The stored response of a cycle. Throws `not_found`. */
  response(cycleId: string): Uint8Array {
    const response = this.#parts.store.readResponse(cycleId)
    if (response === undefined)
      throw new ServiceError('not_found', `there is no cycle ${cycleId.slice(0, 40)}`)
    return response
  }

  lastCycle(): StoredCycle | undefined {
    return this.#parts.store.lastCycle()
  }

  /** An image is durable now. */
  imageStored(key: ImageKey): void {
    this.images.add(key)
    this.#embeddings.imageStored(key)
  }

  /** Images are gone. */
  imagesRemoved(keys: readonly ImageKey[]): void {
    for (const key of keys) {
      this.images.remove(key)
      this.#embeddings.imageRemoved(key)
    }
  }

  /**
   * Makes the vectors of the pending posts for `model`, and calls `takeOver` between two cycles. Rejects with what fails;
   * then nothing has changed. An aborted `signal` ends the preparation.
   */
  adopt(model: Model, before: Model | null, takeOver: () => void, signal?: AbortSignal): Promise<void> {
    return this.#models.adopt(model, before, takeOver, signal)
  }

  /** Once it resolves, `model` scores every cycle too, after its answer. */
  addShadow(model: Model, signal?: AbortSignal): Promise<void> {
    return this.#models.addShadow(model, signal)
  }

  /** Resolves when the model is used no more. */
  removeShadow(model: Model): Promise<void> {
    return this.#models.removeShadow(model)
  }

  /**
   * Sets weights after the cycles under way, so that none of them is overtaken. Those that stand already need no turn,
   * unless others wait for theirs: these would replace what was asked for after them.
   */
  async setWeights(request: WeightsToSet): Promise<WeightsSetting> {
    const standing = this.#lane.has('weights') ? null : this.weights.standing(request)
    if (standing !== null) return standing
    if (this.#closing) throw closing()
    if (this.#lane.isFull('weights')) throw busy('too many settings of weights are queued')
    return guarded(() =>
      this.#lane.run('weights', () =>
        this.weights.set(request, this.#parts.clock(), this.#line.state.newestCycleMs),
      ),
    )
  }

  /** Refuses cycles that have not begun and waits for the one that has. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#lane.idle()
    await this.retention.done()
  }
}

/** A call whose cycle is decoded. */
interface PlacedCall extends CycleCall {
  /** In the queue; null: none was needed so far. */
  place: Place | null
}

/** Turns a failure of the model into 503. */
async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    throw new ServiceError('unavailable', 'the model failed', { cause: error })
  }
}

function busy(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterS: 1 })
}

function closing(): ServiceError {
  return new ServiceError('unavailable', 'the service is shutting down')
}
