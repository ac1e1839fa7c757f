/**
 * Models that are tried beside the one that serves: each scores every cycle too, after the answer has left, and what it
 * says is stored beside the cycle. None of it delays an answer; a shadow that cannot keep up leaves cycles out, and
 * `understudy models compare` makes up for them from the recorded requests.
 */
import { packTable, unpackTable } from '../codec/index.js'
import { headNames, type CycleColumns, type HeadColumns } from '../contract/index.js'
import type { Model } from '../model/index.js'
import type { CyclePlan } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'
import type { Embeddings } from './embeddings/index.js'
import { placedFailure } from './model-failure.js'

export interface ShadowsParts {
  readonly store: Store
  readonly embeddings: Embeddings
  /** Makes the vectors of pending posts' texts that a shadow lacks. Stops when `ended`. */
  readonly completeTexts: (model: Model, ended: () => boolean) => Promise<void>
  readonly log: { warn(fields: object, message: string): void }
}

/** A cycle that is answered. */
export interface AnsweredCycle {
  readonly cycle: CycleColumns
  readonly plan: CyclePlan
  /** Images of each post in the store, by slot. */
  readonly imagesStored: Uint32Array
  /** Raw JSON of the posts that entered, in order; copies, since the body's memory is used again. */
  readonly records: readonly Uint8Array[]
}

interface Shadow {
  readonly model: Model
  busy: boolean
  isCompleting: boolean
  leftOutCount: number
}

export class Shadows {
  readonly #parts: ShadowsParts
  readonly #shadows = new Map<string, Shadow>()
  #work: Promise<unknown> = Promise.resolve()

  constructor(parts: ShadowsParts) {
    this.#parts = parts
  }

  get count(): number {
    return this.#shadows.size
  }

  /** True when some shadow reads texts: then `AnsweredCycle.records` is needed. */
  get readTexts(): boolean {
    return [...this.#shadows.values()].some(({ model }) => model.text !== null)
  }

  add(model: Model): void {
    this.#shadows.set(model.version, { model, busy: false, isCompleting: false, leftOutCount: 0 })
  }

  remove(version: string): void {
    this.#shadows.delete(version)
  }

  /** Scores one cycle with each shadow. Never rejects; resolves when all have ended. */
  async score(answered: AnsweredCycle): Promise<void> {
    const work = [...this.#shadows.values()].map((shadow) => this.#scoreWith(shadow, answered))
    this.#work = Promise.all([this.#work, ...work]).then(() => undefined)
    await Promise.all(work)
  }

  /** Resolves when nothing is being scored. */
  async idle(): Promise<void> {
    await this.#work
  }

  async #scoreWith(shadow: Shadow, answered: AnsweredCycle): Promise<void> {
    const { model } = shadow
    const { position } = answered.plan
    if (shadow.busy) {
      this.#leaveOut(shadow, position, 'it is still at an earlier cycle')
      return
    }
    shadow.busy = true
    try {
      const heads = await this.#predict(model, answered)
      if (!this.#parts.store.closed)
        await this.#parts.store.models.putShadowScores(position, model.version, packHeads(heads))
    } catch (error) {
      const { cycleId } = answered.cycle
      const reason = placedFailure(error, { version: model.version, cycleId, plan: answered.plan })
      this.#leaveOut(shadow, position, reason instanceof Error ? reason.message : String(reason))
    } finally {
      shadow.busy = false
      this.#completeTexts(shadow)
    }
  }

  /** In the background: texts that were not ready, and those of cycles that were left out. */
  #completeTexts(shadow: Shadow): void {
    const { model } = shadow
    if (model.text === null || shadow.isCompleting) return
    shadow.isCompleting = true
    const ended = (): boolean => this.#parts.store.closed || this.#shadows.get(model.version) !== shadow
    const work = this.#parts
      .completeTexts(model, ended)
      .catch((error: unknown) => {
        if (ended()) return
        const fields = { model_version: model.version, err: error }
        this.#parts.log.warn(fields, 'texts of a shadow could not be encoded; the next cycle tries again')
      })
      .finally(() => (shadow.isCompleting = false))
    this.#work = Promise.all([this.#work, work]).then(() => undefined)
  }

  async #predict(model: Model, { plan, records, imagesStored }: AnsweredCycle): Promise<HeadColumns> {
    const { embeddings, store } = this.#parts
    const entering = await embeddings.encodeEntering(model, plan, records)
    const encoded = embeddings.records(model, entering)
    // What was made is kept, whatever becomes of the cycle.
    const storing = encoded && store.models.putEmbeddings(encoded.encoder, encoded.entries)
    const reading = embeddings.inputs(model, plan.next, imagesStored)
    const predicting = model.predict({ ...plan.scoring, ...reading, imagesStored })
    const [heads] = await Promise.all([predicting, storing])
    return heads
  }

  #leaveOut(shadow: Shadow, position: Position, reason: string): void {
    shadow.leftOutCount++
    this.#parts.log.warn(
      { model_version: shadow.model.version, position, reason, left_out: shadow.leftOutCount },
      'a shadow left a cycle out',
    )
  }
}

const layout = 1

/** Heads of the scored rows, in the order of the response, for the disk. */
export function packHeads(heads: HeadColumns): Uint8Array {
  const names = headNames.filter((name) => heads[name] !== null)
  const columns = names.map((name) => Float64Array.from(heads[name] ?? []))
  return packTable({ layout, heads: names }, columns[0]?.length ?? 0, columns)
}

/** The inverse of `packHeads`. Throws when the bytes are not what it writes. */
export function unpackHeads(packed: Uint8Array): HeadColumns {
  const { header, columns } = unpackTable(packed)
  const { layout: found, heads: names } = header as { layout?: number; heads?: readonly string[] }
  if (found !== layout || names === undefined) throw new Error('not the scores of a shadow')
  const column = (name: string): Float32Array | null => {
    const values = columns[names.indexOf(name)]
    return values === undefined ? null : Float32Array.from(values)
  }
  return {
    p_views: column('p_views'),
    p_comments: column('p_comments'),
    p_up: column('p_up'),
    downvote_share: column('downvote_share'),
  }
}
