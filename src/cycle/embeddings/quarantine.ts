/**
 * Quarantine of texts and images that their encoder cannot encode: those on which it returns an error, and those that crash
 * its process. A batch that crashes it is divided down to the single item that is the cause, in the background if the
 * cycle has no time for it. A quarantined item counts as missing and is not tried again until the service restarts. A
 * control item, which every working encoder can encode, distinguishes a broken encoder from a bad item. Items are
 * identified by the hash of their bytes. Read `encode` and `encodeAll` first.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from '../../contract/index.js'
import { isolateErrors, ModelDownError, ModelError, slices, type Vectors } from '../../model/index.js'
import { encodeTimed, type BatchEncoder } from './batch-encoder.js'
import { GatheredVectors } from './vectors.js'

/** The vectors of the items. */
export interface Encoded extends Vectors {
  /** Indices of the items that are in quarantine. */
  readonly quarantined: ReadonlySet<number>
}

export interface QuarantineOptions {
  /** Called once for each item that is quarantined. `error`: what the encoder reported. */
  readonly onQuarantined: (row: number, error: ModelError) => void
  /** Stops the work when it returns true. */
  readonly ended?: () => boolean
}

/** How long the background waits for a process to restart. */
const restartMsMax = 60_000
/** Time limit for the control item. */
const controlMsMax = 10_000
/** Crashes on the control item after which the encoder counts as broken. */
const controlCrashesMax = 2
const pauseMsMin = 50
const pauseMsMax = 2000
/** Far more than a pool holds. The oldest entries are evicted. */
const itemCountMax = 20_000

export class Quarantine {
  /** Items of batches that have crashed the process, until they are encoded or quarantined. */
  readonly #suspects = new Set<string>()
  readonly #quarantined = new Set<string>()

  /** Items that are in quarantine. */
  get count(): number {
    return this.#quarantined.size
  }

  /**
   * Encodes items within a cycle: with one call of the encoder, or several if an item crashes the process. Leaves suspects
   * of earlier calls to the background. Rejects with a `ModelError` when the first call fails and the process does not
   * restart in time.
   */
  encode(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    { budgetMs, onQuarantined }: { budgetMs: number } & Pick<QuarantineOptions, 'onQuarantined'>,
  ): Promise<Encoded> {
    const endMs = performance.now() + budgetMs
    return this.#run(encoder, items, { endMs, ended: () => performance.now() >= endMs, onQuarantined })
  }

  /**
   * Encodes items in the background, suspects included. An item without a vector is then quarantined, or the encoder cannot
   * encode it, unless `ended` has stopped the work. Rejects with a `ModelError` when the encoder is broken, and when its
   * process does not restart.
   */
  encodeAll(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    { onQuarantined, ended = () => false }: QuarantineOptions,
  ): Promise<Encoded> {
    return this.#run(encoder, items, { endMs: null, ended, onQuarantined })
  }

  /** `endMs`: end of the cycle's budget; null in the background. */
  async #run(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    { endMs, ended, onQuarantined }: Required<QuarantineOptions> & { readonly endMs: number | null },
  ): Promise<Encoded> {
    const isBackground = endMs === null
    const keyOf = keysOf(encoder, items)
    const isIn = (keys: Set<string>, row: number): boolean => keys.size > 0 && keys.has(keyOf(row))
    const vectors = new GatheredVectors(items.length, encoder.dim)
    let callCount = 0

    const quarantine = (row: number, error: ModelError): void => {
      // An item may be there twice.
      if (isIn(this.#quarantined, row)) return
      this.#suspects.delete(keyOf(row))
      addBounded(this.#quarantined, keyOf(row))
      onQuarantined(row, error)
    }
    const run = async (batch: readonly number[]): Promise<void> => {
      const rows = batch.filter((row) => !isIn(this.#quarantined, row))
      if (rows.length === 0 || ((isBackground || callCount > 0) && ended())) return
      callCount++
      const msMax = isBackground ? encoder.callMsMax : Math.max(endMs - performance.now(), 1)
      const made = await encodeTimed(
        encoder,
        rows.map((row) => items[row]!),
        msMax,
      )
      assert(made.encoded.length === rows.length, 'an encoder answers for each item')
      vectors.take(rows, made)
      for (const { item, reason } of made.failures ?? []) quarantine(rows[item]!, new ModelError(reason))
      const missing = vectors.missing(rows)
      if (this.#suspects.size > 0)
        for (const [i, row] of rows.entries()) if (made.encoded[i] === 1) this.#suspects.delete(keyOf(row))
      if (!isBackground || encoder.callMsMax === Infinity) return
      // The call had no time for them. If it has encoded none, each gets a separate one.
      if (missing.length < rows.length) await run(missing)
      else if (rows.length > 1) for (const row of rows) await run([row])
    }
    const control = async (rows: readonly number[], error: unknown): Promise<void> => {
      if (!(error instanceof ModelError)) throw error
      const isDown = error instanceof ModelDownError
      if (isDown && !isBackground && callCount === 1) throw error
      if (!isDown) for (const row of rows) addBounded(this.#suspects, keyOf(row))
      const isUp = await isUpBy(encoder, endMs ?? performance.now() + restartMsMax, ended).catch(
        (broken: unknown) => {
          for (const row of rows) this.#suspects.delete(keyOf(row))
          throw broken
        },
      )
      if (!isUp) throw error
    }
    const onError = (row: number, error: unknown): void => {
      if (!(error instanceof ModelError) || error instanceof ModelDownError) throw error
      quarantine(row, error)
    }

    const rows = [...items.keys()].filter((row) => isBackground || !isIn(this.#suspects, row))
    const batches = isBackground ? slices(rows, encoder.callCountMax) : [rows]
    try {
      await isolateErrors(batches, { run, control, onError, isLate: ended })
    } catch (error) {
      if (!(error instanceof ModelError) || (isBackground ? !ended() : callCount === 1)) throw error
    }
    const quarantined = new Set([...items.keys()].filter((row) => isIn(this.#quarantined, row)))
    return { ...vectors.vectors, quarantined }
  }
}

/**
 * Whether the process encodes the control item before `endMs`. Rejects when the control item crashes the process too: then
 * the encoder is broken.
 */
async function isUpBy(encoder: BatchEncoder, endMs: number, ended: () => boolean): Promise<boolean> {
  let crashCount = 0
  for (let pauseMs = pauseMsMin; !ended(); pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      await encoder.encode([encoder.control], controlMsMax)
      return true
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      if (!(error instanceof ModelDownError) && ++crashCount === controlCrashesMax) throw error
    }
    if (performance.now() + pauseMs > endMs) return false
    await sleep(pauseMs, undefined, { ref: false })
  }
  return false
}

/** Keys of items, hashed at first use. */
function keysOf({ hash }: BatchEncoder, items: readonly Uint8Array[]): (row: number) => string {
  const keys: string[] = []
  return (row) => (keys[row] ??= `${hash} ${createHash('sha256').update(items[row]!).digest('base64')}`)
}

function addBounded(keys: Set<string>, key: string): void {
  keys.add(key)
  const [oldest] = keys
  if (keys.size > itemCountMax && oldest !== undefined) keys.delete(oldest)
}
