/**
 * The line of one cycle, from its columns to its answer: plan, predict, encode, commit, publish. A cycle is planned
 * without changing anything, made durable in one transaction, and only then is memory changed and the answer given.
 * The pool lives here. Cycles come one at a time: the lane sees to it. Read `process` first.
 */
import type { Codec } from '../codec/index.js'
import { formatInstant, ServiceError, type CycleColumns, type HeadColumns } from '../contract/index.js'
import { ModelRowError, type Model } from '../model/index.js'
import {
  weightsInForce,
  type CyclePlan,
  type Pool,
  type PoolState,
  type WeightsSetting,
} from '../pool/index.js'
import { StoreError, type CycleRecord, type Store } from '../store/index.js'
import { kindWarnings, readingWarnings, type EmbeddingDesk, type EnteringTexts } from './embeddings/index.js'
import type { HeldCycle } from './held-cycle.js'
import type { ImageCounts } from './image-counts.js'
import { placedFailure } from './model-failure.js'
import { nextTurn } from './next-turn.js'
import { countsOf, resultsOf } from './response-columns.js'
import { loadPool, saveCycle } from './saved-state.js'
import type { StageClock } from './stage-clock.js'
import type { WeightsDesk } from './weights-desk.js'

export interface CycleLineParts {
  readonly codec: Codec
  readonly store: Store
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly weights: WeightsDesk
  readonly images: ImageCounts
  readonly embeddings: EmbeddingDesk
  /** Told of each cycle that is stored, just before its answer is given. */
  readonly onStored: (stored: StoredAnswer) => void
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** A call that brings a cycle which is new and well-formed. */
export interface CycleCall {
  readonly held: HeldCycle
  /** The body. */
  readonly json: Uint8Array
  readonly receivedAtMs: number
  readonly stages: StageClock
}

/** A cycle that is stored, with the pool that holds it in force. */
export interface StoredAnswer {
  readonly call: CycleCall
  readonly model: Model
  readonly plan: CyclePlan
  /** Images of each post in the store, by slot. */
  readonly imagesStored: Uint32Array
}

export class CycleLine {
  readonly #parts: CycleLineParts
  #pool: Pool
  /** True while the pool may lack a cycle that is stored: it is read again before it is used. */
  #mayLack = false
  #wrongModel: Model | null = null

  /** With the pool that the store holds. Throws when it cannot be read. */
  constructor(parts: CycleLineParts) {
    this.#parts = parts
    this.#pool = loadPool(parts.store)
  }

  /** The pool after the newest cycle. */
  get state(): PoolState {
    return this.#pool.state
  }

  /** Whether what `model` said of the newest rows that were scored is no share. */
  isWrong(model: Model | null): boolean {
    return model !== null && model === this.#wrongModel
  }

  /** Whether the post has left the pool in the last seven days, by cycle time. */
  hasTombstone(gallId: string, postNo: number): boolean {
    return this.#pool.hasTombstone(gallId, postNo)
  }

  /**
   * The answer to a new cycle, scored by `model` and durable. Throws `ModelError`, and `unavailable` where storage
   * refuses writes or cannot be read: then nothing has changed.
   */
  async process(call: CycleCall, model: Model): Promise<Uint8Array> {
    const { store, weights: desk, embeddings } = this.#parts
    const { stages } = call
    const { cycle } = call.held
    await restOf(call)
    const pool = this.#wholePool()
    stages.lap('wait')
    const plan = pool.plan(cycle, (store.lastCycle()?.position ?? 0) + 1)
    const weights = weightsInForce(desk.history, cycle.cycleAt.ms)
    stages.lap('plan')
    const entering =
      model.text === null ? null : await embeddings.encode(model, plan, recordsOf(call.json, cycle, plan))
    try {
      return await this.#score({ call, model, plan, weights, entering })
    } catch (error) {
      // Others may enter at the position.
      embeddings.forget(model, entering)
      throw error
    }
  }

  /** From a plan to an answer that is durable. */
  async #score({ call, model, plan, weights, entering }: PlannedCycle): Promise<Uint8Array> {
    const { codec, clock, images, embeddings } = this.#parts
    const { receivedAtMs, stages } = call
    const { cycle, packing } = call.held
    const imagesStored = images.column(plan.next.galleries, plan.next.gallery, plan.next.postNo)
    const reading = embeddings.inputs(model, plan.next, imagesStored)
    const predicting =
      plan.scoring.count === 0
        ? Promise.resolve(noHeads)
        : model.predict({ ...plan.scoring, ...reading, imagesStored }, () => stages.lap('features'))
    predicting.catch(() => undefined)
    await restOf(call)
    // Packing for the disk fits into the time in which another thread runs the model.
    const receivedAt = formatInstant(receivedAtMs)
    const saved = saveCycle(cycle, plan, codec.packColumns)
    const texts = embeddings.records(model, entering)
    const heads = await predicting.catch((error: unknown) => {
      if (error instanceof ModelRowError) this.#wrongModel = model
      throw placedFailure(error, { version: model.version, cycleId: cycle.cycleId, plan })
    })
    if (plan.scoring.count > 0) this.#wrongModel = null
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
    const response = codec.encodeResponse(columns)
    const request = await packing
    stages.lap('encode')
    const record: CycleRecord = {
      cycleId: cycle.cycleId,
      cycleAtMs: cycle.cycleAt.ms,
      receivedAt,
      modelVersion: model.version,
      weightsVersion: weights.version,
      request,
      response,
      ...saved,
      texts,
    }
    await this.#commit(record, plan)
    stages.lap('commit')
    this.#parts.onStored({ call, model, plan, imagesStored })
    return response
  }

  async #commit(record: CycleRecord, plan: CyclePlan): Promise<void> {
    try {
      const position = await this.#parts.store.appendCycle(record)
      if (position !== plan.position) throw new Error(`stored at ${position}, planned for ${plan.position}`)
    } catch (error) {
      this.#resync(record.cycleId)
      if (!(error instanceof StoreError)) throw error
      throw new ServiceError('unavailable', 'storage refuses writes', { cause: error })
    }
    this.#pool.publish(plan)
  }

  /** The pool with every cycle that is stored. Throws `unavailable`. */
  #wholePool(): Pool {
    if (!this.#mayLack) return this.#pool
    try {
      this.#pool = loadPool(this.#parts.store)
    } catch (cause) {
      throw new ServiceError('unavailable', 'the storage cannot be read', { cause })
    }
    this.#mayLack = false
    return this.#pool
  }

  /** A write that failed late may have reached the disk all the same: what the store says is what counts. */
  #resync(cycleId: string): void {
    const { store, log } = this.#parts
    try {
      if (store.closed || store.findCycle(cycleId) === undefined) return
      this.#pool = loadPool(store)
    } catch (error) {
      this.#mayLack = true
      log.error({ err: error, cycle_id: cycleId }, 'the storage cannot tell what became of a cycle')
      return
    }
    log.warn({ cycle_id: cycleId }, 'a cycle was stored although its write failed; the pool is read again')
  }
}

/** From here on a body takes milliseconds at each step. */
const restBytesMin = 1024 * 1024

/** Between two steps of a large cycle: health, images and other calls that have come meanwhile have their turn. */
function restOf({ json }: CycleCall): Promise<void> | null {
  return json.length < restBytesMin ? null : nextTurn()
}

/** A cycle whose posts have entered, in memory alone. */
interface PlannedCycle {
  readonly call: CycleCall
  readonly model: Model
  readonly plan: CyclePlan
  readonly weights: WeightsSetting
  readonly entering: EnteringTexts | null
}

/** Raw JSON of the posts that enter, in order: views of the body. */
export function recordsOf(
  json: Uint8Array,
  { candidates }: CycleColumns,
  { entries }: CyclePlan,
): Uint8Array[] {
  return Array.from(entries.enteredRows, (row) =>
    json.subarray(candidates.rowStart[row], candidates.rowEnd[row]),
  )
}

const noHeads: HeadColumns = { p_views: null, p_comments: null, p_up: null, downvote_share: null }
