/**
 * Shadows: models that score every cycle after its response is sent, in addition to the serving model. Their scores are stored
 * with the cycle. A shadow that cannot keep up skips cycles; `understudy models compare` replays those from the recorded
 * requests.
 */
import { type Log, messageOf } from '../base/index.js'
import type { CycleColumns, HeadColumns } from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import type { CyclePlan, PoolState } from '../pool/index.js'
import { cycleTables, packRows } from '../records/index.js'
import type { Position, Store } from '../store/index.js'
import type { Embeddings } from './embeddings/index.js'
import { placedFailure } from './model-failures.js'

export interface ShadowsParts {
  readonly store: Store
  readonly embeddings: Embeddings
  /** The pool after the newest cycle. */
  readonly state: () => PoolState
  /** True once the service is closing. */
  readonly ended: () => boolean
  readonly log: Log
}

/** A stored cycle, as a shadow scores it. */
export interface ShadowedCycle {
  readonly cycle: CycleColumns
  readonly plan: CyclePlan
  /** Images of each post in the store, by slot. */
  readonly imagesStored: Uint32Array
  /** Raw JSON of the posts that entered, in order. Only read for shadows with a text encoder. */
  readonly records: readonly Uint8Array[]
}

interface Shadow {
  readonly model: Model
  busy: boolean
  skippedCount: number
}

export class Shadows {
  readonly #parts: ShadowsParts
  readonly #shadows = new Map<string, Shadow>()
  #work: Promise<unknown> = Promise.resolve()

  constructor(parts: ShadowsParts) {
    this.#parts = parts
  }

  /** Cycles that shadows have skipped since the start. */
  skippedCount = 0

  get count(): number {
    return this.#shadows.size
  }

  /** True when some shadow reads texts: then `ShadowedCycle.records` is needed. */
  get readTexts(): boolean {
    return [...this.#shadows.values()].some(({ model }) => model.text !== null)
  }

  add(model: Model): void {
    this.#shadows.set(model.version, { model, busy: false, skippedCount: 0 })
  }

  remove(version: string): void {
    this.#shadows.delete(version)
  }

  /** Scores one cycle with each shadow. Never rejects; resolves when all have ended. */
  async score(stored: ShadowedCycle): Promise<void> {
    const work = [...this.#shadows.values()].map((shadow) => this.#scoreWith(shadow, stored))
    this.#work = Promise.allSettled([this.#work, ...work]).then(() => undefined)
    await Promise.all(work)
  }

  /** Resolves when nothing is being scored. */
  async idle(): Promise<void> {
    await this.#work
  }

  async #scoreWith(shadow: Shadow, stored: ShadowedCycle): Promise<void> {
    const { model } = shadow
    const { position, scoring } = stored.plan
    if (shadow.busy) {
      this.#skip(shadow, position, 'the shadow is still scoring an earlier cycle')
      return
    }
    shadow.busy = true
    try {
      const heads = await this.#predict(model, stored)
      if (this.#parts.store.closed) return
      const packed = packRows(cycleTables.heads, { count: scoring.count, ...heads })
      await this.#parts.store.models.putShadowScores(position, model.version, packed)
    } catch (error) {
      const what = `cycle ${stored.cycle.cycleId}`
      const attempt = { version: model.version, what, plan: stored.plan }
      const reason = error instanceof ModelError ? placedFailure(error, attempt) : error
      this.#skip(shadow, position, messageOf(reason))
    } finally {
      shadow.busy = false
      // Texts that were not ready, and those of skipped cycles.
      this.#parts.embeddings.completeLater(model, this.#parts)
    }
  }

  async #predict(model: Model, { plan, records, imagesStored }: ShadowedCycle): Promise<HeadColumns> {
    const { embeddings, store } = this.#parts
    const { encoded = null } = (await embeddings.encodeEntering(model, plan, records)) ?? {}
    // Vectors are stored even if the prediction fails.
    const storing = encoded && store.models.putEmbeddings(encoded.encoder, encoded.entries)
    const reading = embeddings.inputs(model, plan.next, imagesStored)
    const predicting = model.predict({ ...plan.scoring, ...reading, imagesStored })
    const [heads] = await Promise.all([predicting, storing])
    return heads
  }

  #skip(shadow: Shadow, position: Position, reason: string): void {
    shadow.skippedCount++
    this.skippedCount++
    this.#parts.log.warn(
      { model_version: shadow.model.version, position, reason, skipped: shadow.skippedCount },
      'shadow skipped a cycle',
    )
  }
}
