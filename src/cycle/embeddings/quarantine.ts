/**
 * Quarantine of texts and images that their encoder cannot encode: those on which it returns an error, and those that crash
 * its process. A batch that crashes it is bisected down to the single item that is the cause, in the background if the
 * cycle has no time for it. A quarantined item counts as missing and is not tried again until the service restarts. A
 * control item, which every working encoder can encode, distinguishes a broken encoder from a bad item. Items are
 * identified by the hash of their bytes. Read `encode` and `encodeAll` first.
 */
import { createHash } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ModelDownError,
  ModelError,
  type ImageEncoder,
  type TextEncoder,
  type Vectors,
} from '../../model/index.js'
import { GatheredVectors } from './vectors.js'

/** Published after each call of an encoder, for the metrics. */
export interface EncodingMessage {
  readonly kind: 'text' | 'image'
  readonly ms: number
  readonly hasFailed: boolean
}
export const encodingChannel = channel('understudy:encoding')

/** An encoder of texts or of images. */
export interface BatchEncoder {
  readonly kind: EncodingMessage['kind']
  readonly hash: string
  readonly dim: number
  /** An item that every working encoder can encode. */
  readonly control: Uint8Array
  /** Time limit of one call in the background: other calls wait no longer. Infinity: a call encodes all its items. */
  readonly callMsMax: number
  /** Items of one call in the background. */
  readonly callCountMax: number
  readonly encode: (items: readonly Uint8Array[], budgetMs: number) => Promise<Vectors>
}

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
const restartMsMaxDefault = 60_000
/** Time limit for the control item. */
const controlMsMax = 10_000
/** Crashes on the control item after which the encoder counts as broken. */
const controlCrashesMax = 2
/** Crashes in a separate batch after which an item is quarantined: a single crash may have another cause. */
const singleCrashesMax = 3
/** How often to wait for a process that is down because of another call. */
const downCountMax = 3
const pauseMsMin = 50
const pauseMsMax = 2000
/** Far more than a pool holds. The oldest entries are evicted. */
const itemCountMax = 20_000

interface Run {
  readonly isBackground: boolean
  /** Time for the next call of the encoder. */
  readonly callMs: () => number
  /** Time for a restart of the process. */
  readonly restartMs: () => number
  readonly ended: () => boolean
  readonly onQuarantined: QuarantineOptions['onQuarantined']
}

export class Quarantine {
  /** Items of batches that have crashed the process, until they are encoded or quarantined. */
  readonly #suspects = new Set<string>()
  readonly #quarantined = new Set<string>()
  readonly #restartMsMax: number

  constructor(restartMsMax = restartMsMaxDefault) {
    this.#restartMsMax = restartMsMax
  }

  /** Items that are in quarantine. */
  get count(): number {
    return this.#quarantined.size
  }

  /** True when no item is suspect or quarantined, so that no item needs to be hashed. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0 && this.#quarantined.size === 0
  }

  /**
   * Encodes items within a cycle: with one call of the encoder, or several if an item crashes the process. Leaves suspects
   * of earlier calls to the background. Rejects with a `ModelError` when the encoder is broken, when its process is down,
   * and when the process does not restart in time after the first call.
   */
  encode(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    { budgetMs, onQuarantined }: { budgetMs: number } & Pick<QuarantineOptions, 'onQuarantined'>,
  ): Promise<Encoded> {
    const endMs = performance.now() + budgetMs
    const leftMs = (): number => endMs - performance.now()
    const callMs = (): number => Math.max(leftMs(), 1)
    const ended = (): boolean => leftMs() <= 0
    return this.#run(encoder, items, { isBackground: false, callMs, restartMs: leftMs, ended, onQuarantined })
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
    const callMs = (): number => encoder.callMsMax
    const restartMs = (): number => this.#restartMsMax
    return this.#run(encoder, items, { isBackground: true, callMs, restartMs, ended, onQuarantined })
  }

  async #run(encoder: BatchEncoder, items: readonly Uint8Array[], run: Run): Promise<Encoded> {
    const { isBackground, callMs, ended } = run
    const keyOf = keysOf(encoder, items)
    const isQuarantined = (row: number): boolean => !this.isEmpty && this.#quarantined.has(keyOf(row))
    const isSuspect = (row: number): boolean => !this.isEmpty && this.#suspects.has(keyOf(row))
    const all = new GatheredVectors(items.length, encoder.dim)
    const queued = [...items.keys()].filter((row) => isBackground || !isSuspect(row))
    const batches = isBackground ? slices(queued, encoder.callCountMax) : [queued]
    let [callCount, downCount, singleCrashes] = [0, 0, 0]
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      // Checked for each batch, because an item may occur twice.
      const rows = batch.filter((row) => !isQuarantined(row))
      if (rows.length === 0) continue
      if ((isBackground || callCount > 0) && ended()) break
      callCount++
      try {
        const part = rows.map((row) => items[row] as Uint8Array)
        const { failures = [], ...vectors } = await encode(encoder, part, callMs())
        all.take(rows, vectors)
        singleCrashes = 0
        for (const { item, reason } of failures)
          this.#quarantine(keyOf, rows[item] as number, new ModelError(reason), run)
        const missing = all.missing(rows)
        if (this.#suspects.size > 0)
          for (const row of rows) if (!missing.includes(row)) this.#suspects.delete(keyOf(row))
        if (isBackground && encoder.callMsMax < Infinity) batches.unshift(...retryBatches(missing, rows))
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        const isCause = !(error instanceof ModelDownError)
        if (isCause) this.#suspect(rows.map(keyOf))
        const mayWait = isCause || ((isBackground || callCount > 1) && ++downCount < downCountMax)
        if (!mayWait || !(await this.#waitUntilUp(encoder, run, rows.map(keyOf)))) {
          if (isBackground ? !ended() : callCount === 1) throw error
          break
        }
        if (isCause && rows.length > 1) batches.unshift(...slices(rows, Math.ceil(rows.length / 2)))
        else if (!isCause || ++singleCrashes < singleCrashesMax) batches.unshift(rows)
        else {
          singleCrashes = 0
          this.#quarantine(keyOf, rows[0] as number, error, run)
        }
      }
    }
    return { ...all.vectors, quarantined: new Set([...items.keys()].filter(isQuarantined)) }
  }

  /**
   * Waits until the process encodes the control item; false when it does not in time. Rejects when the control item crashes
   * the process too: then the encoder is broken, and the items with these `keys` are not suspect.
   */
  async #waitUntilUp(encoder: BatchEncoder, run: Run, keys: readonly string[]): Promise<boolean> {
    const { restartMs, ended } = run
    const untilMs = performance.now() + restartMs()
    let crashCount = 0
    for (let pauseMs = pauseMsMin; !ended(); pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        await encoder.encode([encoder.control], controlMsMax)
        return true
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        if (!(error instanceof ModelDownError) && ++crashCount === controlCrashesMax) {
          for (const key of keys) this.#suspects.delete(key)
          throw error
        }
      }
      if (performance.now() + pauseMs > untilMs) return false
      await sleep(pauseMs, undefined, { ref: false })
    }
    return false
  }

  #suspect(keys: readonly string[]): void {
    for (const key of keys) this.#suspects.add(key)
    evictOldest(this.#suspects)
  }

  /** Once for each item, also if it is in the batch twice. */
  #quarantine(keyOf: (row: number) => string, row: number, error: ModelError, { onQuarantined }: Run): void {
    const key = keyOf(row)
    if (this.#quarantined.has(key)) return
    this.#suspects.delete(key)
    this.#quarantined.add(key)
    evictOldest(this.#quarantined)
    onQuarantined(row, error)
  }
}

/** Encodes a batch, and publishes how long that took. */
async function encode(encoder: BatchEncoder, part: readonly Uint8Array[], msMax: number): Promise<Vectors> {
  const startedAt = performance.now()
  const publish = (hasFailed: boolean): void => {
    const ms = performance.now() - startedAt
    encodingChannel.publish({ kind: encoder.kind, ms, hasFailed } satisfies EncodingMessage)
  }
  try {
    const vectors = await encoder.encode(part, msMax)
    publish(false)
    return vectors
  } catch (error) {
    publish(true)
    throw error
  }
}

function slices(rows: readonly number[], countMax: number): number[][] {
  return Array.from({ length: Math.ceil(rows.length / countMax) }, (_, i) =>
    rows.slice(i * countMax, (i + 1) * countMax),
  )
}

/** Batches of the rows that a call had no time for. If it encoded none of several rows, each gets a separate batch. */
function retryBatches(missing: number[], rows: readonly number[]): number[][] {
  if (missing.length < rows.length) return missing.length === 0 ? [] : [missing]
  return rows.length === 1 ? [] : slices(missing, 1)
}

const controlText = Buffer.from(JSON.stringify({ title: '가나다 abc 123.' }))

export function textBatchEncoder(encoder: TextEncoder): BatchEncoder {
  const { hash, dim } = encoder
  return {
    ...{ kind: 'text', hash, dim, control: controlText, callMsMax: 250, callCountMax: 200 },
    encode: (records, ms) => encoder.encode(records, ms),
  }
}

/** A grey JPEG of 8 by 8 pixels. */
const controlImage = Buffer.from(
  '/9j/2wBDABAQEBAREBIUFBIZGxgbGSUiHx8iJTgoKygrKDhVNT41NT41VUtbSkVKW0uHal5eaoecg3yDnL2pqb3u4u7/////2wBDARAQEBAREBIU' +
    'FBIZGxgbGSUiHx8iJTgoKygrKDhVNT41NT41VUtbSkVKW0uHal5eaoecg3yDnL2pqb3u4u7/////wgARCAAIAAgDASIAAhEBAxEB/8QAFAABAAAA' +
    'AAAAAAAAAAAAAAAAAP/EABQBAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhADEAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAE/AH//' +
    'xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAECAQE/AH//xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAEDAQE/AH//2Q==',
  'base64',
)

export function imageBatchEncoder(encoder: ImageEncoder): BatchEncoder {
  const { hash, dim } = encoder
  return {
    ...{ kind: 'image', hash, dim, control: controlImage, callMsMax: Infinity, callCountMax: 8 },
    encode: (images) => encoder.encode(images),
  }
}

/** Keys of items, hashed at first use. */
function keysOf({ hash }: BatchEncoder, items: readonly Uint8Array[]): (row: number) => string {
  const keys: string[] = []
  return (row) =>
    (keys[row] ??= `${hash} ${createHash('sha256')
      .update(items[row] as Uint8Array)
      .digest('base64')}`)
}

function evictOldest(items: Set<string>): void {
  for (const key of items.keys()) {
    if (items.size <= itemCountMax) return
    items.delete(key)
  }
}
