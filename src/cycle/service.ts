/**
 * One cycle, from bytes to bytes: decode, plan, predict, encode, commit, publish. A cycle is planned without changing
 * anything, made durable in one transaction, and only then is memory changed and the answer given.
 * Read `submit` first, then `process`.
 */
import { sameJsonOffThread, type Codec, type DecodedCycle } from '../codec/index.js'
import {
  formatInstant,
  outcome,
  ServiceError,
  type Counts,
  type CycleColumns,
  type HeadColumns,
  type ResultColumns,
} from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import { scoreRows, weightsInForce, type CyclePlan, type Pool, type WeightsSetting } from '../pool/index.js'
import { StoreError, type Store, type StoredCycle } from '../store/index.js'
import { ImageCounts } from './image-counts.js'
import { Lane } from './lane.js'
import { checkMeaning } from './meaning.js'
import { packRequest, unpackRequest, type RequestBody } from './request-body.js'
import { loadPool, saveCycle } from './saved-state.js'
import { Turns } from './turns.js'
import type { StageClock } from './stage-clock.js'
import { WeightsDesk, type InitialWeights } from './weights-desk.js'

/** What the service needs of its surroundings. */
export interface CycleServiceParts {
  readonly codec: Codec
  readonly store: Store
  /** The model in use, or null while none is loaded. */
  readonly model: () => Model | null
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly clockSkewMs: number
  readonly cyclesWaitingMax: number
  readonly initialWeights: InitialWeights
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** A cycle under way, for calls that bring the same id meanwhile. */
interface Leader {
  readonly body: Uint8Array
  readonly response: Promise<Uint8Array>
  followerCount: number
}

/** Calls with the id of a cycle under way that may wait for its end. They hold no body: it is compared first. */
const followerCountMax = 1000
/** Settings of weights that may wait; they take a millisecond each. */
const weightsWaitingMax = 16
/** Bodies that may wait to be decoded. The server bounds their bytes. */
const decodesWaitingMax = 256

export class CycleService {
  readonly #parts: CycleServiceParts
  readonly #lane: Lane
  readonly #leaders = new Map<string, Leader>()
  readonly images: ImageCounts
  readonly weights: WeightsDesk
  #pool: Pool
  readonly #decodes = new Turns(decodesWaitingMax)
  #closing = false

  private constructor(parts: CycleServiceParts, pool: Pool, weights: WeightsDesk, lane: Lane) {
    this.#parts = parts
    this.#pool = pool
    this.#lane = lane
    this.weights = weights
    this.images = new ImageCounts(parts.store)
  }

  /** The service in the state that its store holds. */
  static async open(parts: CycleServiceParts): Promise<CycleService> {
    const lane = new Lane({ cycle: parts.cyclesWaitingMax, weights: weightsWaitingMax })
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

  get pendingCount(): number {
    return this.#pool.state.count
  }

  /**
   * The response to a cycle's body: computed, or the stored one when the cycle is known. Throws `ServiceError`:
   * 400, 409, 422, 503. `stages` is told what each stage took. Once it settles, nothing depends on `body`: what may
   * still be compressing it is the request of a cycle that failed, and is thrown away.
   */
  async submit(body: RequestBody, receivedAtMs: number, stages: StageClock): Promise<Uint8Array> {
    if (this.#decodes.full) throw busy('too many cycles arrive at once')
    await this.#decodes.next()
    const cycle = this.#parts.codec.decodeCycle(body.json)
    stages.lap('decode')
    try {
      return await this.#answer(cycle, body, receivedAtMs, stages)
    } finally {
      cycle.release?.()
    }
  }

  async #answer(
    cycle: DecodedCycle,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    const problems = checkMeaning(cycle, { nowMs: receivedAtMs, skewMs: this.#parts.clockSkewMs })
    if (problems !== null)
      throw problems.toError('unprocessable', 'the cycle is well-formed, but its times are wrong')
    const stored = this.#parts.store.findCycle(cycle.cycleId)
    if (stored !== undefined) return this.#replay(stored, body.json)
    const leader = this.#leaders.get(cycle.cycleId)
    return leader === undefined
      ? this.#lead(cycle, body, receivedAtMs, stages)
      : this.#follow(leader, cycle.cycleId, body.json)
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
  }

  async #replay(stored: StoredCycle, json: Uint8Array): Promise<Uint8Array> {
    const request = this.#parts.store.readRequest(stored.position)
    const response = this.#parts.store.readResponse(stored.cycleId)
    if (request === undefined || response === undefined)
      throw new Error(`cycle ${stored.cycleId} is stored in part`)
    if (!(await sameJsonOffThread(await unpackRequest(request), json))) throw otherBody(stored.cycleId)
    return response
  }

  async #follow(leader: Leader, cycleId: string, json: Uint8Array): Promise<Uint8Array> {
    if (leader.followerCount >= followerCountMax) throw busy('too many calls wait for this cycle')
    leader.followerCount++
    // The leader's body is the server's to use again once it is answered; a comparison may take longer.
    const same = Buffer.compare(leader.body, json) === 0 || sameJsonOffThread(Buffer.from(leader.body), json)
    const [response, isSame] = await Promise.all([leader.response, same])
    if (!isSame) throw otherBody(cycleId)
    return response
  }

  #lead(
    cycle: CycleColumns,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    if (this.#closing) throw closing()
    if (this.#parts.model() === null) throw new ServiceError('unavailable', 'no model is loaded')
    if (this.#lane.isFull('cycle')) throw busy('too many cycles are queued')
    const response = this.#guarded(() =>
      this.#lane.run('cycle', () => this.#process(cycle, body, receivedAtMs, stages)),
    )
    this.#leaders.set(cycle.cycleId, { body: body.json, response, followerCount: 0 })
    const end = (): void => void this.#leaders.delete(cycle.cycleId)
    response.then(end, end)
    return response
  }

  async #process(
    cycle: CycleColumns,
    body: RequestBody,
    receivedAtMs: number,
    stages: StageClock,
  ): Promise<Uint8Array> {
    if (this.#closing) throw closing()
    const { codec, store, clock } = this.#parts
    const model = this.#parts.model()
    if (model === null) throw new ServiceError('unavailable', 'no model is loaded')

    stages.lap('wait')
    const packing = packRequest(body)
    packing.catch(() => undefined) // Awaited below; until then a failure must not count as unhandled.
    const plan = this.#pool.plan(cycle, (store.lastCycle()?.position ?? 0) + 1)
    const weights = weightsInForce(this.weights.history, cycle.cycleAt.ms)
    stages.lap('plan')
    const predicting = this.#predict(model, plan, stages)
    predicting.catch(() => undefined)
    // Packing the columns for the disk fits into the time in which another thread runs the model.
    const saved = saveCycle(cycle, plan)
    const heads = await predicting
    stages.lap('infer')
    const response = codec.encodeResponse({
      cycleId: cycle.cycleId,
      cycleTime: cycle.cycleTime,
      receivedAt: formatInstant(receivedAtMs),
      scoredAt: formatInstant(clock()),
      modelVersion: model.version,
      weightsVersion: weights.version,
      counts: countsOf(cycle, plan),
      missingFeatureShare: plan.missingFeatureShare,
      warnings: plan.warnings,
      results: resultsOf(cycle, plan, heads, weights),
    })
    const request = await packing
    stages.lap('encode')
    const labels = {
      cycleId: cycle.cycleId,
      cycleAtMs: cycle.cycleAt.ms,
      receivedAt: formatInstant(receivedAtMs),
      modelVersion: model.version,
      weightsVersion: weights.version,
    }
    await this.#commit({ ...labels, request, response, ...saved }, plan)
    stages.lap('commit')
    return response
  }

  async #predict(model: Model, plan: CyclePlan, stages: StageClock): Promise<HeadColumns> {
    const { scoring, next } = plan
    if (scoring.count === 0) return noHeads
    const imagesStored = this.images.column(next.galleries, next.gallery, next.postNo)
    return model.predict({ ...scoring, imagesStored }, () => stages.lap('features'))
  }

  async #commit(record: Parameters<Store['appendCycle']>[0], plan: CyclePlan): Promise<void> {
    const { store } = this.#parts
    try {
      const position = await store.appendCycle(record)
      if (position !== plan.position) throw new Error(`stored at ${position}, planned for ${plan.position}`)
    } catch (error) {
      this.#resync(record.cycleId)
      if (!(error instanceof StoreError)) throw error
      throw new ServiceError('unavailable', 'storage refuses writes', { cause: error })
    }
    this.#pool.publish(plan)
  }

  /** A write that failed late may have reached the disk all the same: what the store says is what counts. */
  #resync(cycleId: string): void {
    const { store, log } = this.#parts
    if (store.closed || store.findCycle(cycleId) === undefined) return
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

const noHeads: HeadColumns = { p_views: null, p_comments: null, p_up: null, downvote_share: null }

function countsOf(cycle: CycleColumns, plan: CyclePlan): Counts {
  const waiting = plan.outcomes.reduce((sum, code) => sum + (code === outcome.waiting ? 1 : 0), 0)
  const results = plan.outcomes.length + plan.unknownRows.length
  return {
    candidates: cycle.candidates.count,
    engagement: cycle.engagement.count,
    candidate_scores: cycle.candidateScores.count,
    removals: cycle.removals.count,
    scored_now: plan.scoring.count,
    waiting,
    not_scored: results - plan.scoring.count - waiting,
    results,
  }
}

/** Pending posts in order of entry, then unknown posts in request order (decisions.md 20). */
function resultsOf(
  cycle: CycleColumns,
  plan: CyclePlan,
  heads: HeadColumns,
  weights: WeightsSetting,
): ResultColumns {
  const { next, unknownRows, outcomes, scoring } = plan
  const count = next.count + unknownRows.length
  const gallery = new Uint32Array(count)
  const postNo = new Float64Array(count)
  const codes = new Uint8Array(count).fill(outcome.unknownPost)
  gallery.set(next.gallery)
  postNo.set(next.postNo)
  codes.set(outcomes)
  unknownRows.forEach((row, i) => {
    // Ids of unknown posts stand after those of the pool in `galleries`.
    gallery[next.count + i] = next.galleries.length + (cycle.engagement.gallery[row] as number)
    postNo[next.count + i] = cycle.engagement.postNo[row] as number
  })
  const galleries = unknownRows.length === 0 ? next.galleries : [...next.galleries, ...cycle.galleries]
  const score = scoreRows(heads, weights.weights, scoring.count)
  return { count, galleries, gallery, postNo, outcome: codes, score, heads }
}

function otherBody(cycleId: string): ServiceError {
  return new ServiceError('conflict', `cycle ${cycleId} is stored with a different body`)
}

function busy(message: string): ServiceError {
  return new ServiceError('unavailable', message, { retryAfterS: 1 })
}

function closing(): ServiceError {
  return new ServiceError('unavailable', 'the service is shutting down')
}
