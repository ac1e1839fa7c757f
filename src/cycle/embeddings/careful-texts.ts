/**
 * Texts through an encoder whose process may end on one of them. A batch that has ended it more than once is tried text
 * by text, and the text that ends it alone is left out from then on: a cycle must not fail for ever because of one post.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { ModelDownError, ModelError, type TextEncoder, type Vectors } from '../../model/index.js'
import { Gathered } from './gathered.js'
import { batchEndsMax, type Poison } from './poison.js'

/** A text like any other: an encoder that fails on it fails on all, and no text is to blame. */
const harmless = Buffer.from(JSON.stringify({ title: '가나다 abc 123.' }))
/** For that one text; a bound, not an expectation. */
const harmlessMsMax = 10_000
/** How often the harmless text may end the process before the encoder is given up. */
const harmlessEndsMax = 2
/** A process that starts again is waited for: so long in the background. */
const patienceMs = 60_000
/** Of a text alone, where the process was down. */
const aloneTriesMax = 3
const pauseMsMin = 50
const pauseMsMax = 2000

export interface CarefulVectors extends Vectors {
  /** False: the process did not come back in time, and some texts were not tried. */
  readonly isSettled: boolean
}

/** How long a process that starts again is waited for, asked at each wait, and whether all is over anyway. */
interface Patience {
  readonly waitMs: () => number
  readonly ended: () => boolean
}

export interface CarefulTextsParts {
  readonly poison: Poison
  readonly log: { error(fields: object, message: string): void }
}

export class CarefulTexts {
  readonly #parts: CarefulTextsParts

  constructor(parts: CarefulTextsParts) {
    this.#parts = parts
  }

  /**
   * As `TextEncoder.encode`, but for texts that have ended the process before: each of these is tried alone while the
   * budget lasts, and what ends it even then is never tried again. Rejects with a `ModelError` where a batch ends it.
   */
  async encode(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    budgetMs: number,
  ): Promise<CarefulVectors> {
    const endMs = performance.now() + budgetMs
    const patience = { waitMs: () => endMs - performance.now(), ended: () => false }
    return this.#encode(encoder, records, budgetMs, patience)
  }

  /**
   * As `encode`, in the background: a process that starts again is waited for longer, and what was not tried is told by
   * a `ModelDownError`. Who tries again after a batch has ended the process comes to an end with it.
   */
  async encodeAtLeisure(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    budgetMs: number,
    ended: () => boolean,
  ): Promise<Vectors> {
    const patience = { waitMs: () => patienceMs, ended }
    const made = await this.#encode(encoder, records, budgetMs, patience)
    if (made.isSettled || ended()) return made
    throw new ModelDownError('the text encoder does not come back')
  }

  /**
   * As `encodeAtLeisure`, for who has one try: a text that ends the process is found in this very call and left out.
   */
  async encodeAtLast(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    budgetMs: number,
  ): Promise<Vectors> {
    const never = (): boolean => false
    for (let ends = 1; ; ends++) {
      try {
        return await this.encodeAtLeisure(encoder, records, budgetMs, never)
      } catch (error) {
        // After so many ends each of them is tried alone, and none of them ends the call.
        if (!endedProcess(error) || ends > batchEndsMax) throw error
        if (!(await this.#comesBack(encoder, { waitMs: () => patienceMs, ended: never }))) throw error
      }
    }
  }

  async #encode(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    budgetMs: number,
    patience: Patience,
  ): Promise<CarefulVectors> {
    const { poison } = this.#parts
    if (poison.isEmpty) return { ...(await this.#together(encoder, records, budgetMs)), isSettled: true }
    const keys = records.map((record) => poison.key(encoder.hash, record))
    const trusted = [...keys.keys()].filter(
      (row) => !poison.has(keys[row] ?? '') && !poison.isSuspect(keys[row] ?? ''),
    )
    const suspects = [...keys.keys()].filter((row) => poison.isSuspect(keys[row] ?? ''))
    const gathered = new Gathered(records.length, encoder.dim)
    const endMs = performance.now() + budgetMs
    if (trusted.length > 0) {
      const some = trusted.map((row) => records[row] as Uint8Array)
      gathered.take(trusted, await this.#together(encoder, some, budgetMs))
    }
    for (const [tried, row] of suspects.entries()) {
      const leftMs = endMs - performance.now()
      // One in any case where there is nothing else, so that it comes to an end.
      if (leftMs <= 0 && (tried > 0 || trusted.length > 0)) break
      const made = await this.#alone(encoder, records[row] as Uint8Array, Math.max(leftMs, 1), patience)
      if (made === 'not tried') return { ...gathered.vectors, isSettled: false }
      if (made !== 'poison') gathered.take([row], made)
    }
    return { ...gathered.vectors, isSettled: true }
  }

  async #together(encoder: TextEncoder, records: readonly Uint8Array[], budgetMs: number): Promise<Vectors> {
    const { poison } = this.#parts
    const keys = (): string[] => records.map((record) => poison.key(encoder.hash, record))
    try {
      const made = await encoder.encode(records, budgetMs)
      // What the budget did not reach has not proved anything.
      if (!poison.isEmpty) poison.clear(keys().filter((_, row) => made.encoded[row] === 1))
      return made
    } catch (error) {
      if (endedProcess(error)) poison.suspect(keys())
      throw error
    }
  }

  async #alone(
    encoder: TextEncoder,
    record: Uint8Array,
    budgetMs: number,
    patience: Patience,
  ): Promise<Vectors | 'poison' | 'not tried'> {
    const { poison } = this.#parts
    const key = poison.key(encoder.hash, record)
    for (let tries = 1; ; tries++) {
      try {
        const made = await encoder.encode([record], budgetMs)
        poison.clear([key])
        return made
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        if (!(await this.#comesBack(encoder, patience))) return 'not tried'
        if (!endedProcess(error) && tries < aloneTriesMax) continue
        if (!endedProcess(error)) return 'not tried'
        poison.condemn(key)
        this.#tell(record, error)
        return 'poison'
      }
    }
  }

  /**
   * Waits until the encoder can do a harmless text again; false when time or all else is over first. Rejects when it
   * cannot do that one either.
   */
  async #comesBack(encoder: TextEncoder, { waitMs, ended }: Patience): Promise<boolean> {
    const untilMs = performance.now() + waitMs()
    let ends = 0
    for (let pauseMs = pauseMsMin; !ended(); pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        await encoder.encode([harmless], harmlessMsMax)
        return true
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        if (endedProcess(error) && ++ends === harmlessEndsMax) throw error
      }
      if (performance.now() + pauseMs > untilMs) return false
      await pause(pauseMs, undefined, { ref: false })
    }
    return false
  }

  #tell(record: Uint8Array, error: ModelError): void {
    const { gall_id, post_no } = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown>
    this.#parts.log.error(
      { gall_id, post_no, problem: error.message },
      'a text ends the text encoder even alone; its post is scored without it until the service starts again',
    )
  }
}

/** Whether the batch was tried and did not survive. */
function endedProcess(error: unknown): boolean {
  return error instanceof ModelError && !(error instanceof ModelDownError)
}
