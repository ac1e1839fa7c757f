/**
 * Adopts and removes models between cycles, for `ModelLifecycle`, and runs what follows a stored cycle: texts that were
 * not encoded in time, and shadows. A model scores only once it has the vectors of the pending posts.
 */
import { inBackground, type Log, messageOf } from '../base/index.js'
import type { Model, ModelUsers } from '../model/index.js'
import type { PoolState } from '../pool/index.js'
import type { Store } from '../store/index.js'
import type { Embeddings } from './embeddings/index.js'
import type { ImageCounts } from './image-counts.js'
import type { SerialQueue } from './intake/index.js'
import { tryOnPending } from './pending-trial.js'
import { enteringRecords, type CycleStored } from './pipeline.js'
import { Shadows } from './shadows.js'

export interface ScoringModelsParts {
  readonly store: Store
  readonly embeddings: Embeddings
  readonly images: ImageCounts
  readonly queue: SerialQueue
  /** The pool after the newest cycle. */
  readonly state: () => PoolState
  /** True once the service is closing. */
  readonly ended: () => boolean
  readonly textEncodeMsMax: number
  readonly log: Log
}

export class ScoringModels implements ModelUsers {
  readonly shadows: Shadows
  readonly #parts: ScoringModelsParts

  constructor(parts: ScoringModelsParts) {
    this.#parts = parts
    this.shadows = new Shadows(parts)
  }

  /**
   * Encodes the pending posts for `model` and tries it on them, then calls `takeOver` between two cycles. When it
   * rejects, nothing has changed. An aborted `signal` ends the encoding.
   */
  async adopt(model: Model, before: Model | null, takeOver: () => void, signal?: AbortSignal): Promise<void> {
    const { embeddings, queue, state, textEncodeMsMax } = this.#parts
    const ended = this.#endedOr(signal)
    embeddings.addModel(model)
    try {
      await embeddings.complete(model, state, ended)
      // Without another model, cycles would wait for posts that only a cycle can remove.
      if (before === null)
        await this.#warnOfFailure(model, 'the model fails on pending posts; cycles get 503', signal)
      else await tryOnPending(model, state(), this.#parts)
      await queue.run('model', async () => {
        // Posts that have entered meanwhile are encoded while cycles wait, so the time is bounded; the rest is encoded in
        // the background.
        const untilMs = performance.now() + textEncodeMsMax
        const late = (): boolean => ended() || performance.now() > untilMs
        await embeddings.completeTexts(model, state, late)
        takeOver()
      })
    } catch (error) {
      embeddings.removeModel(model)
      throw error
    }
    if (before !== null) embeddings.removeModel(before)
  }

  /**
   * Encodes the pending posts for `model` and tries it on them; it then scores every cycle after its response. Rejects
   * when aborted.
   */
  async addShadow(model: Model, signal?: AbortSignal): Promise<void> {
    const { embeddings, state } = this.#parts
    embeddings.addModel(model)
    try {
      await embeddings.complete(model, state, this.#endedOr(signal))
      await this.#warnOfFailure(model, 'the shadow fails on pending posts and will skip cycles', signal)
      signal?.throwIfAborted()
    } catch (error) {
      embeddings.removeModel(model)
      throw error
    }
    this.shadows.add(model)
  }

  /** Resolves when the model is no longer used. */
  async removeShadow(model: Model): Promise<void> {
    this.shadows.remove(model.version)
    await this.shadows.idle()
    this.#parts.embeddings.removeModel(model)
  }

  /** Listener of the event "cycle stored": completes texts that were not encoded in time, and runs the shadows. */
  cycleStored({ call, model, plan, imagesStored }: CycleStored): void {
    this.#parts.embeddings.completeLater(model, this.#parts)
    if (this.shadows.count === 0) return
    const { cycle, body } = call
    // Copies: the memory of the body may be reused as soon as the response is sent.
    const records = this.shadows.readTexts
      ? enteringRecords(body.json, cycle, plan).map((record) => Uint8Array.from(record))
      : []
    setImmediate(() =>
      inBackground('shadow models', this.shadows.score({ cycle, plan, imagesStored, records })),
    )
  }

  /** Tries `model` on the pending posts and logs a failure. */
  async #warnOfFailure(model: Model, message: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await tryOnPending(model, this.#parts.state(), this.#parts)
    } catch (error) {
      if (this.#endedOr(signal)()) return
      const problem = messageOf(error)
      this.#parts.log.warn({ model_version: model.version, problem }, message)
    }
  }

  #endedOr(signal: AbortSignal | undefined): () => boolean {
    return () => this.#parts.ended() || signal?.aborted === true
  }
}
