/**
 * The pipeline of one cycle: plan, predict, encode, commit, publish. (The intake has decoded it.) A cycle is planned
 * without changing anything, made durable in one transaction, and only then is memory changed and the response given.
 * After that, the event "cycle stored" is emitted. Cycles run one at a time, in the serial queue. Read `process` first.
 */
import { inBackground, type Log, mebibyte, nextTurn, sha256Of } from '../base/index.js'
import { encodeResponse, type ResponseColumns } from '../codec/index.js'
import {
  assert,
  formatInstant,
  pendingPostsMax,
  Problems,
  ServiceError,
  type CycleColumns,
  type HeadColumns,
} from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import type { CyclePlan, Pool, PoolState, WeightsSetting } from '../pool/index.js'
import { StoreError, type CycleContents, type Store } from '../store/index.js'
import { availabilityOf } from './availability.js'
import { cycleRecordOf } from './cycle-record.js'
import type { Embeddings } from './embeddings/index.js'
import type { ImageCounts } from './image-counts.js'
import type { CycleLimits, NewCycle, AnsweredCycle } from './intake/index.js'
import { placedFailure, type ModelFailures } from './model-failures.js'
import { countsOf, resultsOf } from './results.js'
import { catchUp, loadPool } from './stored-pool/index.js'
import type { StoredWeights } from './stored-weights.js'
import { warningsOf } from './warnings.js'

export interface CyclePipelineParts {
  readonly store: Store
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly limits: () => CycleLimits
  readonly weights: StoredWeights
  readonly images: ImageCounts
  readonly embeddings: Embeddings
  readonly failures: ModelFailures
  readonly log: Log
}

/** The event "cycle stored": the pool holds the cycle, and its response is about to be sent. */
export interface CycleStored {
  readonly call: NewCycle
  readonly model: Model
  readonly plan: CyclePlan
  /** The response before it was bytes. Its keys are columns of the plan. */
  readonly response: ResponseColumns
  /** Stored images of each pending post, by slot. */
  readonly imagesStored: Uint32Array
}

export class CyclePipeline {
  readonly #parts: CyclePipelineParts
  readonly #onStored: ((event: CycleStored) => void)[] = []
  #pool: Pool
  /** True while the pool may contain cycles that the store lacks: it is loaded again before its next use. */
  #mustLoad = false

  /** `pool`: as `loadPool` returns it. */
  constructor(parts: CyclePipelineParts, pool: Pool) {
    this.#parts = parts
    this.#pool = pool
  }

  /** Calls `listener` for each stored cycle, before its response is sent. A listener returns immediately and does not throw. */
  onStored(listener: (event: CycleStored) => void): void {
    this.#onStored.push(listener)
  }

  /** The pool after the newest cycle. */
  get state(): PoolState {
    return this.#pool.state
  }

  /** The store has read what another process wrote. `isComplete`: it has read everything again. */
  async follow(isComplete: boolean): Promise<void> {
    if (isComplete) this.#mustLoad = true
    await this.#currentPool().catch((error: unknown) => {
      this.#parts.log.error({ err: error }, 'the pool cannot be loaded')
    })
  }

  /** True for a post that is pending, and for one that left the pool in the last seven days, by cycle time. */
  isRecent(gallId: string, postNo: number): boolean {
    return this.#pool.state.index.findPost(gallId, postNo) >= 0 || this.#pool.hasTombstone(gallId, postNo)
  }

  /**
   * The durable response to a new cycle, scored by `model`, and what is stored of it. Throws `ModelError`, `unprocessable` when too many posts would
   * be pending, or `unavailable` when storage refuses writes or cannot be read. After a failure nothing has changed.
   */
  async process(call: NewCycle, model: Model): Promise<AnsweredCycle> {
    const { limits, weights: stored, embeddings } = this.#parts
    const { cycle, body, stages } = call
    const { json } = body
    await yieldIfLarge(json)
    const pool = await this.#currentPool()
    stages.lap('wait')
    const plan = planNewCycle(pool, cycle, limits().pendingPostsMax ?? pendingPostsMax)
    const weights = stored.inForceAt(cycle.cycleAt.ms)
    stages.lap('plan')
    const texts = await embeddings
      .encodeEntering(model, plan, enteringRecords(json, cycle, plan))
      .catch((error: unknown) => {
        if (error instanceof ModelError) this.#parts.failures.failed(cycle.cycleId, model, error)
        throw error
      })
    try {
      const planned: PlannedCycle = { call, model, plan, weights }
      const { columns, imagesStored, record } = await this.#predict(planned)
      const response = encodeResponse(columns)
      const hashingResponse = sha256Of(response)
      const { sha256: requestSha256, ...request } = await call.packed()
      const responseSha256 = (await hashingResponse).toString('hex')
      stages.lap('encode')
      const storedCycle = {
        cycleId: cycle.cycleId,
        position: plan.position,
        cycleAtMs: cycle.cycleAt.ms,
        receivedAt: columns.receivedAt,
        modelVersion: model.version,
        weightsVersion: weights.version,
      }
      await this.#commit(plan, {
        ...storedCycle,
        request,
        requestSha256,
        response,
        responseSha256,
        record,
        texts: texts?.encoded ?? null,
      })
      stages.lap('commit')
      stages.summary = columns
      // The cycle is stored: a listener that fails must neither turn its response into an error nor keep the others from it.
      for (const listener of this.#onStored)
        inBackground('stored cycle', () => listener({ call, model, plan, response: columns, imagesStored }))
      return { cycle: storedCycle, response }
    } catch (error) {
      // Other posts may enter at this position.
      texts?.forget()
      throw error
    }
  }

  /** Predicts in the model's process, and meanwhile packs the record of the cycle. */
  async #predict({ call, model, plan, weights }: PlannedCycle): Promise<PredictedCycle> {
    const { clock, images, embeddings, failures } = this.#parts
    const { cycle, body, receivedAtMs, stages } = call
    const { json } = body
    const { next, scoring } = plan
    const imagesStored = images.column(next.galleries, next.gallery, next.postNo)
    const inputs = embeddings.inputs(model, next, imagesStored)
    const modelInputs = { ...scoring, ...inputs, imagesStored }
    const predicting = scoring.count === 0 ? Promise.resolve(noHeads) : model.predict(modelInputs)
    stages.lap('features')
    const available = availabilityOf(model, plan, { ...inputs, imagesStored }, { images, embeddings })
    // Until they are awaited, a failure is not unhandled.
    call.packed().catch(() => undefined)
    predicting.catch(() => undefined)
    await yieldIfLarge(json)
    const warnings = warningsOf(model, plan, inputs)
    const recordOf = cycleRecordOf({ cycle, plan, weights, available, warnings })
    const heads = await predicting.catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      const placed = placedFailure(error, { version: model.version, what: `cycle ${cycle.cycleId}`, plan })
      failures.failed(cycle.cycleId, model, placed)
      throw placed
    })
    if (scoring.count > 0) failures.scored(model)
    stages.lap('infer')
    const results = resultsOf(cycle, plan, heads, weights)
    assert(
      results.count === next.count + plan.unknownRows.length,
      'each pending and each unknown post has a result',
    )
    const columns = {
      cycleId: cycle.cycleId,
      cycleTime: cycle.cycleTime,
      receivedAt: formatInstant(receivedAtMs),
      scoredAt: formatInstant(clock()),
      modelVersion: model.version,
      weightsVersion: weights.version,
      counts: countsOf(cycle, plan),
      missingFeatureShare: plan.missingFeatureShare,
      warnings,
      results,
    }
    return { columns, imagesStored, record: recordOf(heads) }
  }

  /** Stores the cycle, then publishes its plan. */
  async #commit(plan: CyclePlan, cycle: CycleContents): Promise<void> {
    try {
      const position = await this.#parts.store.appendCycle(cycle)
      assert(position === plan.position, 'positions of cycles have no gaps')
    } catch (error) {
      this.#resynchronise(plan, cycle.cycleId)
      if (!(error instanceof StoreError)) throw error
      throw new ServiceError({ code: 'storage_refuses' }, { cause: error })
    }
    this.#pool.publish(plan)
  }

  /** A pool that holds every stored cycle. Throws `unavailable`. */
  async #currentPool(): Promise<Pool> {
    const { store } = this.#parts
    let missing: number | null
    try {
      if (this.#mustLoad) this.#pool = (await loadPool(this.#parts)).pool
      this.#mustLoad = false
      const { position } = this.#pool.state
      missing = position === 0 || store.hasCycle(position) ? null : position
      // Positions have no gaps.
      if (store.hasCycle(position + 1)) await catchUp(this.#pool, store)
    } catch (cause) {
      throw new ServiceError({ code: 'storage_unreadable' }, { cause })
    }
    if (missing === null) return this.#pool
    const cause = new StoreError(
      'failed',
      `the cycle at position ${missing} is no longer in the file: it was overwritten while it was open; put back the newest copy and restart`,
    )
    throw new ServiceError({ code: 'storage_refuses' }, { cause })
  }

  /** A write that failed late may have reached the disk. If that cannot be read, the next cycle finds out. */
  #resynchronise(plan: CyclePlan, cycleId: string): void {
    const { store, log } = this.#parts
    try {
      if (store.closed || store.findCycle(cycleId)?.position !== plan.position) return
    } catch (error) {
      log.error({ err: error, cycle_id: cycleId }, 'the outcome of a failed write is unknown')
      return
    }
    this.#pool.publish(plan)
    log.warn({ cycle_id: cycleId }, 'a cycle was stored although its write failed; the pool contains it')
  }
}

interface PlannedCycle {
  readonly call: NewCycle
  readonly model: Model
  readonly plan: CyclePlan
  readonly weights: WeightsSetting
}

interface PredictedCycle {
  readonly columns: ResponseColumns
  readonly imagesStored: Uint32Array
  readonly record: Uint8Array
}

/** Each step of a cycle with a body this large takes milliseconds. */
const largeBytesMin = mebibyte

/** Between two steps of a large cycle, the event loop serves other requests. */
function yieldIfLarge(json: Uint8Array): Promise<void> | null {
  return json.length < largeBytesMin ? null : nextTurn()
}

/** Raw JSON of the posts that enter, in order: views of the body. */
export function enteringRecords(
  json: Uint8Array,
  { candidates }: CycleColumns,
  { changes }: CyclePlan,
): Uint8Array[] {
  return Array.from(changes.enteredRows, (row) =>
    json.subarray(candidates.rowStart[row], candidates.rowEnd[row]),
  )
}

/** All that follows from a new cycle before it is scored. Throws `unprocessable` if too many posts would be pending. */
export function planNewCycle(pool: Pool, cycle: CycleColumns, pendingPostsMax: number): CyclePlan {
  const plan = pool.plan(cycle, pool.state.position + 1)
  checkPendingCount(plan, pendingPostsMax)
  return plan
}

/**
 * The limit of pending posts (docs/contract.md): each of them takes time in every cycle. Throws `unprocessable` if the cycle
 * would leave more than `pendingPostsMax`, and more than there were: a pool that is over the limit, as after a change of the
 * setting, still takes cycles that do not make it larger.
 */
function checkPendingCount({ base, next, changes }: CyclePlan, pendingPostsMax: number): void {
  if (next.count <= Math.max(pendingPostsMax, base.count)) return
  const [entering, leaving] = [changes.enteredRows.length, base.count - changes.keptCount]
  const problems = new Problems()
  problems.add(
    'candidates',
    `must not raise the number of pending posts above ${pendingPostsMax}: ${base.count} are pending, ` +
      `${entering} would enter and ${leaving} would leave. Send removals of the posts that have left the queue`,
  )
  throw problems.toError('too_many_pending')
}

const noHeads: HeadColumns = { p_views: null, p_comments: null, p_up: null, downvote_share: null }
