/**
 * Quarantine of texts and images that end the process of their encoder. A batch that ends the process is bisected, over
 * several cycles if need be, until the single item is found. That item is quarantined: it counts as missing and is not
 * tried again in the life of the service. A control item that no working encoder fails on tells a broken encoder from a
 * bad item. Items are known by the hash of their bytes. Read `encode` first.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ModelDownError,
  ModelError,
  type ImageEncoder,
  type TextEncoder,
  type Vectors,
} from '../../model/index.js'
import { GatheredVectors } from './vectors.js'

/** An encoder of texts or of images. */
export interface BatchEncoder {
  readonly hash: string
  readonly dim: number
  /** An item that every working encoder survives. */
  readonly control: Uint8Array
  readonly encode: (items: readonly Uint8Array[], budgetMs: number) => Promise<Vectors>
}

export interface QuarantineOptions {
  /** For the encoding of all items; at least one batch is tried in any case. In the background: for each batch. */
  readonly budgetMs: number
  /** In the background, the call waits for restarts of the process and goes on until each suspect is cleared or found. */
  readonly background?: {
    /** For one restart. */
    readonly restartMsMax: number
    /** Stops waiting for a restart. */
    readonly ended?: () => boolean
  }
  /** Called once for each item that is quarantined. `error`: what the encoder reported. */
  readonly onQuarantined: (row: number, error: ModelError) => void
}

export interface QuarantineResult extends Vectors {
  /** True when the process did not come back in time: the items left were not tried. */
  readonly isProcessDown: boolean
}

/** Time for the control item: a bound, not an expectation. */
const controlMsMax = 10_000
/** How often the control item may end the process before the encoder counts as broken. */
const controlEndsMax = 2
/** How often an item must end the process alone, while the control item does not: a single failure may have another cause. */
const endsAloneMax = 3
/** How often a batch is tried whose process is down because of another call. */
const downCountMax = 3
const pauseMsMin = 50
const pauseMsMax = 2000
/** Far more than a pool holds. The oldest entries are forgotten. */
const itemCountMax = 20_000

interface Suspect {
  /** The largest batch in which the item may be tried. Halved whenever its batch ends the process. */
  readonly batchSizeMax: number
  /** How often the item has ended the process alone. */
  readonly endsAlone: number
}

interface Batch {
  readonly rows: readonly number[]
  readonly isSuspect: boolean
}

export class Quarantine {
  readonly #suspects = new Map<string, Suspect>()
  readonly #quarantined = new Set<string>()

  /** True when no item is suspect or quarantined: then no item needs to be hashed. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0 && this.#quarantined.size === 0
  }

  /**
   * Encodes `items`, except those in quarantine. Rejects with a `ModelError` when the encoder is broken; within a cycle
   * also when the process is down, or does not come back after a first batch without suspects.
   */
  async encode(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    options: QuarantineOptions,
  ): Promise<QuarantineResult> {
    const { budgetMs, background, onQuarantined } = options
    const endMs = performance.now() + budgetMs
    const leftMs = (): number => (background === undefined ? endMs - performance.now() : budgetMs)
    const { ended = (): boolean => false } = background ?? {}
    const keyOf = keysOf(encoder, items)
    const all = new GatheredVectors(items.length, encoder.dim)
    const queue = this.#batches(items.length, keyOf)
    const restarted = (): Promise<boolean> =>
      isUp(encoder, performance.now() + (background?.restartMsMax ?? leftMs()), ended)
    let downCount = 0
    for (let tried = 0; queue.length > 0; tried++) {
      if (tried > 0 && leftMs() <= 0) break
      const { rows: batchRows, isSuspect } = queue[0] as Batch
      // One item may be there twice.
      const rows = this.isEmpty ? batchRows : batchRows.filter((row) => !this.#quarantined.has(keyOf(row)))
      if (rows.length === 0) {
        queue.shift()
        continue
      }
      try {
        const batch = rows.map((row) => items[row] as Uint8Array)
        const made = await encoder.encode(batch, Math.max(leftMs(), 1))
        all.take(rows, made)
        this.#clear(
          rows.filter((_, i) => made.encoded[i] === 1),
          keyOf,
        )
        queue.shift()
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        if (error instanceof ModelDownError) {
          if (tried === 0 && background === undefined) throw error
          if (++downCount < downCountMax && (await restarted())) continue
          return { ...all.vectors, isProcessDown: true }
        }
        this.#suspect(rows, keyOf)
        if (!(await this.#restartedOrBroken(restarted, rows, keyOf))) {
          if (tried === 0 && !isSuspect && background === undefined) throw error
          return { ...all.vectors, isProcessDown: true }
        }
        if (rows.length > 1) {
          const half = rows.length >> 1
          const halves = [rows.slice(0, half), rows.slice(half)]
          queue.splice(0, 1, ...halves.map((part) => ({ rows: part, isSuspect: true })))
        } else {
          const [row] = rows as [number]
          if ((this.#suspects.get(keyOf(row))?.endsAlone ?? 0) < endsAloneMax) continue
          this.#quarantine(keyOf(row))
          onQuarantined(row, error)
        }
      }
    }
    return { ...all.vectors, isProcessDown: false }
  }

  /** One batch of items without suspicion, then suspects in batches as small as the last bisection left them. */
  #batches(itemCount: number, keyOf: (row: number) => string): Batch[] {
    const all = [...Array(itemCount).keys()]
    if (this.isEmpty) return itemCount === 0 ? [] : [{ rows: all, isSuspect: false }]
    const unsuspected: number[] = []
    const batches: Batch[] = []
    let suspects: number[] = []
    let sizeMax = Infinity
    for (const row of all) {
      if (this.#quarantined.has(keyOf(row))) continue
      const rowSizeMax = this.#suspects.get(keyOf(row))?.batchSizeMax
      if (rowSizeMax === undefined) {
        unsuspected.push(row)
        continue
      }
      if (suspects.length >= Math.min(sizeMax, rowSizeMax)) {
        batches.push({ rows: suspects, isSuspect: true })
        suspects = []
        sizeMax = Infinity
      }
      suspects.push(row)
      sizeMax = Math.min(sizeMax, rowSizeMax)
    }
    if (suspects.length > 0) batches.push({ rows: suspects, isSuspect: true })
    if (unsuspected.length > 0) batches.unshift({ rows: unsuspected, isSuspect: false })
    return batches
  }

  /** When the control item ends the process too, no item is to blame. */
  async #restartedOrBroken(
    restarted: () => Promise<boolean>,
    rows: readonly number[],
    keyOf: (row: number) => string,
  ): Promise<boolean> {
    try {
      return await restarted()
    } catch (error) {
      this.#clear(rows, keyOf)
      throw error
    }
  }

  #suspect(rows: readonly number[], keyOf: (row: number) => string): void {
    for (const row of rows) {
      const endsAlone = this.#suspects.get(keyOf(row))?.endsAlone ?? 0
      this.#suspects.delete(keyOf(row))
      this.#suspects.set(keyOf(row), {
        batchSizeMax: Math.ceil(rows.length / 2),
        endsAlone: rows.length === 1 ? endsAlone + 1 : endsAlone,
      })
    }
    forgetOldest(this.#suspects)
  }

  #clear(rows: readonly number[], keyOf: (row: number) => string): void {
    if (this.#suspects.size === 0) return
    for (const row of rows) this.#suspects.delete(keyOf(row))
  }

  #quarantine(key: string): void {
    this.#suspects.delete(key)
    this.#quarantined.add(key)
    forgetOldest(this.#quarantined)
  }
}

const controlText = Buffer.from(JSON.stringify({ title: '가나다 abc 123.' }))

export function textBatchEncoder(encoder: TextEncoder): BatchEncoder {
  const { hash, dim } = encoder
  return { hash, dim, control: controlText, encode: (records, ms) => encoder.encode(records, ms) }
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
  return { hash, dim, control: controlImage, encode: (images) => encoder.encode(images) }
}

/** Keys of items, hashed when they are first asked for. */
function keysOf({ hash }: BatchEncoder, items: readonly Uint8Array[]): (row: number) => string {
  const keys: string[] = []
  return (row) =>
    (keys[row] ??= `${hash} ${createHash('sha256')
      .update(items[row] as Uint8Array)
      .digest('base64')}`)
}

/**
 * Waits until the process encodes the control item; false when `untilMs` passes or `ended` is true first. Rejects when
 * the control item ends the process: the encoder is broken.
 */
async function isUp(encoder: BatchEncoder, untilMs: number, ended: () => boolean): Promise<boolean> {
  let endCount = 0
  for (let pauseMs = pauseMsMin; !ended(); pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      await encoder.encode([encoder.control], controlMsMax)
      return true
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      if (!(error instanceof ModelDownError) && ++endCount === controlEndsMax) throw error
    }
    if (performance.now() + pauseMs > untilMs) return false
    await sleep(pauseMs, undefined, { ref: false })
  }
  return false
}

function forgetOldest(items: Map<string, unknown> | Set<string>): void {
  for (const key of items.keys()) {
    if (items.size <= itemCountMax) return
    items.delete(key)
  }
}
