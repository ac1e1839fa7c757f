/**
 * One cycle, from bytes to bytes: decode, plan, predict, encode, commit, publish. A cycle is planned without changing
 * anything, made durable in one transaction, and only then is memory changed and the answer given.
 * Read `submit` first, then `process`.
 */
import type { Codec, DecodedCycle } from '../codec/index.js'
import { formatInstant, ServiceError, type CycleColumns, type HeadColumns } from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import {
  weightsInForce,
  type CyclePlan,
  type Pool,
  type PoolState,
  type WeightsSetting,
} from '../pool/index.js'
import {
  StoreError,
  type CycleDraft,
  type ImageKey,
  type Store,
  type StoredCycle,
  type StoredRequest,
} from '../store/index.js'
import { EmbeddingDesk, kindWarnings, readingWarnings, type EnteringTexts } from './embeddings/index.js'
import { ImageCounts } from './image-counts.js'
import { Lane } from './lane.js'
import { LentResponses } from './lent-responses.js'
import { checkMeaning } from './meaning.js'
import { Places, type Place } from './places.js'
import { Repeats } from './repeats.js'
import { packRequest, type RequestBody } from './request-body.js'
import { countsOf, resultsOf } from './response-columns.js'
import { Retention, type RetentionLimits } from './retention.js'
import { loadPool, saveCycle, SavedCycleSpace } from './saved-state.js'
import { Turns } from './turns.js'
import { Shadows } from './shadows.js'
import type { StageClock } from './stage-clock.js'
import { statedCycleId } from './stated-id.js'
import { WeightsDesk, type InitialWeights } from './weights-desk.js'
import { ZstdFrames } from './zstd-frames.js'

/** What the service needs of its surroundings. */
export interface CycleServiceParts {
  readonly codec: Codec
  readonly store: Store
  /** The model in use, or null while none is loaded. */
  readonly model: () => Model | null
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** This and the next are asked for each cycle: they may change. */
  readonly clockSkewMs: number
  readonly cyclesWaitingMax: number
  readonly initialWeights: InitialWeights
  /** For the texts of the posts that enter with one cycle. */
  readonly textEncodeMsMax: number
  /** Absent: nothing expires. */
  readonly retention?: RetentionLimits
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

const keepAll: RetentionLimits = { retainCyclesDays: 0, retainImagesDays: 0, retainOutcomesDays: 0 }

/** Settings of weights that may wait; they take a millisecond each. */
const weightsWaitingMax = 16
/** Bodies that may wait to be decoded. The server bounds their bytes. */
const decodesWaitingMax = 256
/** A body this small is decoded whether or not there is a place for it, since saying what it is costs little. */
const freeBytesMax = 64 * 1024

export class CycleService {
  readonly #parts: CycleServiceParts
  readonly #lane: Lane
  readonly images: ImageCounts
  readonly weights: WeightsDesk
  readonly shadows: Shadows
  readonly retention: Retention
  readonly #embeddings: EmbeddingDesk
  readonly #saved: SavedCycleSpace
  readonly #frames: ZstdFrames
  #pool: Pool
  /** Plans that were begun: columns of a plan can be read until the second one after it. */
  #planCount = 0
  #isCompleting = false
  #submittedCount = 0
  readonly #decodes = new Turns(decodesWaitingMax)
  readonly #places: Places
  readonly #lent = new LentResponses()
  readonly #repeats: Repeats
  #closing = false

  private constructor(parts: CycleServiceParts, pool: Pool, weights: WeightsDesk, lane: Lane) {
    this.#parts = parts
    this.#pool = pool
    this.#lane = lane
    this.#saved = new SavedCycleSpace(parts.codec.packColumns)
    this.#frames = new ZstdFrames(parts.codec.startFrameCompressor)
    this.#places = new Places(() => parts.cyclesWaitingMax)
    this.#repeats = new Repeats(parts.store, this.#lent)
    this.weights = weights
    this.images = new ImageCounts(parts.store)
    this.#embeddings = new EmbeddingDesk(parts)
    this.retention = new Retention({
      store: parts.store,
      limits: () => parts.retention ?? keepAll,
      state: () => this.#pool.state,
      remembers: (gallId, postNo) => this.#pool.remembers(gallId, postNo),
      idle: () => lane.isFree && !this.#closing,
      onImagesRemoved: (keys) => this.imagesRemoved(keys),
      log: parts.log,
    })
    this.shadows = new Shadows({
      ...parts,
      embeddings: this.#embeddings,
      completeTexts: (model, ended) =>
        this.#embeddings.completeTexts(
          model,
          () => this.#pool.state,
          () => this.#closing || ended(),
        ),
    })
  }

  /** The service in the state that its store holds. */
  static async open(parts: CycleServiceParts): Promise<CycleService> {
    // Cycles wait for a place before they come here.
    const lane = new Lane({ weights: weightsWaitingMax })
    const weights = await WeightsDesk.open(parts.store, parts.initialWeights, parts.clock(), parts.log)
    const service = new CycleService(parts, loadPool(parts.store), weights, lane)
    service.images.load().catch((error: unknown) => {
      parts.log.error({ err: error }, 'stored images cannot be counted ahead; each cycle asks the store')
    })
    return service
  }

  /** False while storage refuses writes or the service ends. */
  get ready(): boolean {
    return this.#parts.store.healthy && !this.#closing
  }

  /** Bodies so far, good or bad. */
  get submittedCount(): number {
    return this.#submittedCount
  }

  get pendingCount(): number {
    return this.#pool.state.count
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
    const place = body.json.length <= freeBytesMax ? null : this.#places.take(cycleId)
    try {
      return await this.#decode(body, receivedAtMs, stages, place)
    } finally {
      place?.leave()
    }
  }

  /**
   * A body of a cycle begins to arrive with `start`, empty where it cannot be read yet; `bytesMax` is how long it may
   * become. Throws `unavailable` when it would find no place: said before it is read or decoded, since under overload
   * that work would be taken from the cycles that are answered. A small body is let in, for it costs little to find out
   * what it is; so is a cycle that is stored or under way. The function returned says that the body has arrived, or
   * never will.
   */
  admit(start: Uint8Array, bytesMax: number): () => void {
    if (bytesMax <= freeBytesMax) return () => undefined
    const cycleId = statedCycleId(start)
    if (this.#places.willHaveRoom(cycleId)) return this.#places.expect()
    if (cycleId !== null && this.#parts.store.findCycle(cycleId) !== undefined) return () => undefined
    throw this.#places.refusal()
  }

  async #decode(
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
    place: Place | null,
  ): Promise<Uint8Array> {
    await this.#decodes.next()
    // Before it is known whether the cycle is good or new: most are, and the other threads have nothing else to do now.
    const packing = packRequest(body, this.#frames)
    packing.catch(() => undefined) // Awaited when the cycle is stored; until then a failure is not unhandled.
    try {
      const cycle = await this.#parts.codec.readCycle(body.json)
      stages.lap('decode')
      const held: HeldCycle = { cycle, packing, readers: 1, place }
      try {
        return await this.#answer(held, body, receivedAtMs, stages)
      } finally {
        held.place?.leave()
        letGo(held)
      }
    } finally {
      // The store has copied the frame, or has no use for it.
      packing.then(
        ({ bytes }) => this.#frames.giveBack(bytes),
        () => undefined,
      )
    }
  }

  /** For each response of `submit`, when nothing reads it any more: its memory then serves the next cycle. */
  giveBack(response: Uint8Array): void {
    this.#lent.giveBack(response)
  }

  /** What a body states first need not be what it means. */
  #placeAsItself(held: HeldCycle): void {
    const { cycleId } = held.cycle
    if (held.place?.cycleId === cycleId) return
    held.place?.leave()
    held.place = this.#places.take(cycleId)
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
   * Gives `model` the vectors of the pending posts, and calls `takeOver` between two cycles. Rejects with what fails;
   * then nothing has changed.
   */
  async adopt(model: Model, before: Model | null, takeOver: () => void): Promise<void> {
    const ended = (): boolean => this.#closing
    const state = (): PoolState => this.#pool.state
    this.#embeddings.enter(model)
    try {
      await this.#embeddings.complete(model, state, ended)
      await this.#lane.run('model', async () => {
        // Of the posts that have entered meanwhile, while cycles wait: what takes longer is left to the background.
        const untilMs = performance.now() + this.#parts.textEncodeMsMax
        const late = (): boolean => ended() || performance.now() > untilMs
        await this.#embeddings.completeTexts(model, state, late)
        takeOver()
      })
    } catch (error) {
      this.#embeddings.leave(model)
      throw error
    }
    if (before !== null) this.#embeddings.leave(before)
  }

  /** From now on `model` scores every cycle too, after its answer. */
  async addShadow(model: Model): Promise<void> {
    this.#embeddings.enter(model)
    try {
      await this.#embeddings.complete(
        model,
        () => this.#pool.state,
        () => this.#closing,
      )
    } catch (error) {
      this.#embeddings.leave(model)
      throw error
    }
    this.shadows.add(model)
  }

  /** Resolves when the model is used no more. */
  async removeShadow(model: Model): Promise<void> {
    this.shadows.remove(model.version)
    await this.shadows.idle()
    this.#embeddings.leave(model)
  }

  async #answer(
    held: HeldCycle,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    const { cycle } = held
    const problems = checkMeaning(cycle, { nowMs: receivedAtMs, skewMs: this.#parts.clockSkewMs })
    if (problems !== null)
      throw problems.toError('unprocessable', 'the cycle is well-formed, but its times are wrong')
    const stored = this.#parts.store.findCycle(cycle.cycleId)
    if (stored !== undefined) {
      held.place?.leave()
      return this.#repeats.replay(stored, body.json)
    }
    // What was answered is not known any more, so it can be neither repeated nor compared; nor is it done twice.
    if (this.#parts.store.expiry?.isExpired(cycle.cycleId) === true)
      throw new ServiceError('conflict', `cycle ${cycle.cycleId} was answered, and its record has expired`)
    const leader = this.#repeats.leader(cycle.cycleId)
    if (leader === undefined) return this.#lead(held, body, receivedAtMs, stages)
    held.place?.leave()
    return this.#repeats.follow(leader, cycle.cycleId, body.json)
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

  /** Sets weights after the cycles under way, so that none of them is overtaken. */
  setWeights(request: Parameters<WeightsDesk['set']>[0]): Promise<WeightsSetting> {
    if (this.#closing) return Promise.reject(closing())
    if (this.#lane.isFull('weights')) return Promise.reject(busy('too many settings of weights are queued'))
    return this.#guarded(() =>
      this.#lane.run('weights', () =>
        this.weights.set(request, this.#parts.clock(), this.#pool.state.newestCycleMs),
      ),
    )
  }

  /** Refuses cycles that have not begun and waits for the one that has. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#lane.idle()
    await this.retention.done()
  }

  #lead(held: HeldCycle, body: RequestBody, receivedAtMs: number, stages: StageClock): Promise<Uint8Array> {
    const { cycleId } = held.cycle
    if (this.#closing) throw closing()
    if (this.#parts.model() === null) throw new ServiceError('unavailable', 'no model is loaded')
    this.#placeAsItself(held)
    const response = this.#guarded(() =>
      this.#lane.run('cycle', () => this.#process(held, body, receivedAtMs, stages)),
    )
    this.#repeats.lead(cycleId, body.json, response)
    return response
  }

  async #process(
    held: HeldCycle,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    if (this.#closing) throw closing()
    const { store } = this.#parts
    const { cycle } = held
    const model = this.#parts.model()
    if (model === null) throw new ServiceError('unavailable', 'no model is loaded')

    stages.lap('wait')
    const plan = this.#pool.plan(cycle, (store.lastCycle()?.position ?? 0) + 1)
    this.#planCount++
    const weights = weightsInForce(this.weights.history, cycle.cycleAt.ms)
    stages.lap('plan')
    const entering =
      model.text === null
        ? null
        : await this.#embeddings.encode(model, plan, recordsOf(body.json, cycle, plan))
    try {
      return await this.#score({ held, model, plan, weights, entering }, body, receivedAtMs, stages)
    } catch (error) {
      // Others may enter at the position.
      this.#embeddings.forget(model, entering)
      throw error
    }
  }

  /** From a plan to an answer that is durable. */
  async #score(
    { held, model, plan, weights, entering }: PlannedCycle,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    const { codec, store, clock } = this.#parts
    const { cycle, packing } = held
    const imagesStored = this.images.column(plan.next.galleries, plan.next.gallery, plan.next.postNo)
    const reading = this.#embeddings.inputs(model, plan.next, imagesStored)
    const predicting =
      plan.scoring.count === 0
        ? Promise.resolve(noHeads)
        : model.predict({ ...plan.scoring, ...reading, imagesStored }, () => stages.lap('features'))
    predicting.catch(() => undefined)
    // Packing for the disk fits into the time in which another thread runs the model.
    const receivedAt = formatInstant(receivedAtMs)
    const draft = store.draftCycle({
      cycleId: cycle.cycleId,
      cycleAtMs: cycle.cycleAt.ms,
      receivedAt,
      modelVersion: model.version,
      weightsVersion: weights.version,
      request: packing,
      ...saveCycle(cycle, plan, this.#saved),
      texts: this.#embeddings.records(model, entering),
    })
    const heads = await predicting
    stages.lap('infer')
    const columns = {
      cycleId: cycle.cycleId,
      cycleTime: cycle.cycleTime,
      receivedAt,
      scoredAt: formatInstant(clock()),
      modelVersion: model.version,
      weightsVersion: weights.version,
      counts: countsOf(cycle, plan),
      missingFeatureShare: plan.missingFeatureShare,
      warnings: [...kindWarnings(model), ...plan.warnings, ...readingWarnings(model, plan, reading)],
      results: resultsOf(cycle, plan, heads, weights),
    }
    const response = codec.encodeResponse(columns, (bytes) => draft.room(bytes))
    await packing
    stages.lap('encode')
    await this.#commit(cycle.cycleId, draft, response, plan)
    this.#lent.lend(response, draft)
    stages.lap('commit')
    this.retention.wake()
    this.#afterwards(model, held, plan, imagesStored, body.json)
    return response
  }

  /** What is done when the answer is on its way: texts that were not ready, and the shadows. */
  #afterwards(
    model: Model,
    held: HeldCycle,
    plan: CyclePlan,
    imagesStored: Uint32Array,
    json: Uint8Array,
  ): void {
    this.#embeddings.stored(plan.next)
    if (model.text !== null) this.#completeTexts(model)
    if (this.shadows.count === 0) return
    held.readers++
    const { cycle } = held
    // The body's memory is used again as soon as the answer is out.
    const records = this.shadows.readTexts
      ? recordsOf(json, cycle, plan).map((record) => Uint8Array.from(record))
      : []
    const planCount = this.#planCount
    const readable = (): boolean => this.#planCount <= planCount + 1
    setImmediate(() => {
      void this.shadows.score({ cycle, plan, imagesStored, records, readable }).finally(() => letGo(held))
    })
  }

  /** In the background: what a cycle's time did not suffice for. */
  #completeTexts(model: Model): void {
    if (this.#isCompleting) return
    this.#isCompleting = true
    void this.#embeddings
      .completeTexts(
        model,
        () => this.#pool.state,
        () => this.#closing || this.#parts.model() !== model,
      )
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error }, 'texts could not be encoded; the next cycle tries again')
      })
      .finally(() => (this.#isCompleting = false))
  }

  async #commit(cycleId: string, draft: CycleDraft, response: Uint8Array, plan: CyclePlan): Promise<void> {
    try {
      const position = await draft.append(response)
      if (position !== plan.position) throw new Error(`stored at ${position}, planned for ${plan.position}`)
    } catch (error) {
      this.#resync(cycleId)
      if (!(error instanceof StoreError)) throw error
      throw new ServiceError('unavailable', 'storage refuses writes', { cause: error })
    }
    this.#pool.publish(plan)
  }

  /** A write that failed late may have reached the disk all the same: what the store says is what counts. */
  #resync(cycleId: string): void {
    const { store, log } = this.#parts
    try {
      if (store.closed || store.findCycle(cycleId) === undefined) return
    } catch (error) {
      // Past reading, the store takes no further write either: what it holds is told after a restart.
      log.error({ err: error, cycle_id: cycleId }, 'the storage cannot tell what became of a cycle')
      return
    }
    log.warn({ cycle_id: cycleId }, 'a cycle was stored although its write failed; the pool is read again')
    this.#pool = loadPool(store)
  }

  /** Turns a failure of the model into 503. */
  async #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      throw new ServiceError('unavailable', 'the model failed', { cause: error })
    }
  }
}

/** A decoded cycle. The memory of its columns goes back when the last of its readers is done. */
interface HeldCycle {
  readonly cycle: DecodedCycle
  /** Its body as the store keeps it. */
  readonly packing: Promise<StoredRequest>
  /** In the line; null: none was needed so far. */
  place: Place | null
  readers: number
}

/** A cycle whose posts have entered, in memory alone. */
interface PlannedCycle {
  readonly held: HeldCycle
  readonly model: Model
  readonly plan: CyclePlan
  readonly weights: WeightsSetting
  readonly entering: EnteringTexts | null
}

function letGo(held: HeldCycle): void {
  if (--held.readers === 0) held.cycle.release?.()
}

/** Raw JSON of the posts that enter, in order: views of the body. */
function recordsOf(json: Uint8Array, { candidates }: CycleColumns, { entries }: CyclePlan): Uint8Array[] {
  return Array.from(entries.enteredRows, (row) =>
    json.subarray(candidates.rowStart[row], candidates.rowEnd[row]),
  )
}

const noHeads: HeadColumns = { p_views: null, p_comments: null, p_up: null, downvote_share: null }

function busy(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterS: 1 })
}

function closing(): ServiceError {
  return new ServiceError('unavailable', 'the service is shutting down')
}
