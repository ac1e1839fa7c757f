/**
 * Vectors of the pending posts' texts for one encoder. Each text is encoded once, when its post enters, and its vector is
 * stored with the cycle that brought the post.
 */
import { nextTurn, type Log } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import type { EmbeddingColumn, ModelError, TextEncoder, Vectors } from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import type { EncodedTexts, Store } from '../../store/index.js'
import { textBatchEncoder } from './batch-encoder.js'
import type { Quarantine } from './quarantine.js'
import { readCandidates, textKey } from './stored-texts.js'
import { VectorTable } from './vectors.js'

/** Posts that are looked up, or encoded, between two turns of the event loop. */
const postsPerTurn = 200
/** More than the rows of one cycle: a body of 16 MiB has no room for as many. */
const rowCountMax = 2 ** 21

export interface CacheParts {
  readonly quarantine: Quarantine
  readonly log: Log
}

/** Texts that were encoded for posts that enter with one cycle. */
export interface EnteringTexts {
  /** The vectors that are stored with the cycle; null when there are none. */
  readonly encoded: EncodedTexts | null
  /** Removes the vectors from the cache: the cycle was not stored, and other posts may enter at its position. */
  readonly forget: () => void
}

export class TextCache {
  /** The encoder of the newest model that uses the cache: the processes of an older one may have ended. */
  encoder: TextEncoder
  readonly #store: Store
  readonly #parts: CacheParts
  readonly #vectors: VectorTable<number>
  #countAfterSweep = 0
  /** Texts that are being encoded. The promises settle when the vectors are in the cache. */
  readonly #inProgress = new Map<number, Promise<unknown>>()
  /** Texts of which the encoder makes no vector, or that are in quarantine. */
  readonly #unencodable = new Set<number>()

  constructor(encoder: TextEncoder, store: Store, parts: CacheParts) {
    this.encoder = encoder
    this.#store = store
    this.#parts = parts
    this.#vectors = new VectorTable(encoder.dim)
  }

  /** Texts that are being encoded. */
  get inProgressCount(): number {
    return this.#inProgress.size
  }

  /**
   * Encodes the posts that enter with the cycle at `position` and are not in the cache, with `encoder`; null when all
   * are. `records`: their raw JSON.
   */
  async encodeEntering(
    encoder: TextEncoder,
    position: number,
    records: readonly Uint8Array[],
    budgetMs: number,
  ): Promise<EnteringTexts | null> {
    const rows = [...records.keys()].filter((row) => {
      const key = postKey(position, row)
      return this.#vectors.row(key) < 0 && !this.#inProgress.has(key) && !this.#unencodable.has(key)
    })
    if (rows.length === 0) return null
    const keys = rows.map((row) => postKey(position, row))
    return this.#track(keys, async () => {
      const texts = rows.map((row) => records[row]!)
      const made = await this.#parts.quarantine.encode(textBatchEncoder(encoder), texts, {
        budgetMs,
        onQuarantined: (row, error) => this.#logQuarantined(texts[row]!, error),
      })
      const encoded = this.#encodedTexts(keys, made)
      this.#keep(keys, made)
      for (const row of made.quarantined) this.#unencodable.add(keys[row]!)
      const forget = (): void => keys.forEach((key) => this.#forget(key))
      return { encoded, forget }
    })
  }

  /** The vectors by slot of `state`. */
  column(state: PoolState): EmbeddingColumn {
    const row = new Int32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) row[slot] = this.#vectors.row(keyOf(state, slot))
    return { dim: this.encoder.dim, vectors: this.#vectors.vectors, row }
  }

  /** 1 for a text that the encoder cannot encode, by slot of `state`. */
  unencodable(state: PoolState): Uint8Array {
    const column = new Uint8Array(state.count)
    if (this.#unencodable.size > 0)
      for (let slot = 0; slot < state.count; slot++)
        if (this.#unencodable.has(keyOf(state, slot))) column[slot] = 1
    return column
  }

  /** Texts with a vector, and those that get none. */
  get knownCount(): number {
    return this.#vectors.count + this.#unencodable.size
  }

  /** Clears the cache, because its source records have changed. */
  clear(): void {
    this.#vectors.retain(new Set())
    this.#unencodable.clear()
    this.#countAfterSweep = 0
  }

  /** Removes posts that are no longer pending, once they are the majority. */
  sweep(state: PoolState): void {
    if (this.knownCount < 2 * Math.max(state.count, this.#countAfterSweep, postsPerTurn)) return
    const pending = new Set(Array.from({ length: state.count }, (_, slot) => keyOf(state, slot)))
    this.#vectors.retain(pending)
    for (const key of this.#unencodable) if (!pending.has(key)) this.#unencodable.delete(key)
    this.#countAfterSweep = this.knownCount
  }

  /**
   * Completes the cache for the pending posts: reads the stored vectors, and encodes and stores the others. `state` is
   * read again after every wait, because cycles continue meanwhile. Stops when `ended` returns true.
   */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    for (;;) {
      const missing = await this.#readStored(state(), ended)
      // A standby receives the vectors from the owner.
      if (missing.length === 0 || ended() || !this.#store.mayWrite) return
      const others = missing.flatMap((key) => this.#inProgress.get(key) ?? [])
      if (others.length > 0) await Promise.allSettled(others)
      else await this.#encodeMissing(missing, ended)
    }
  }

  /** Returns the keys of the posts without a stored vector. */
  async #readStored(state: PoolState, ended: () => boolean): Promise<number[]> {
    const absent: number[] = []
    for (let slot = 0; slot < state.count; slot++)
      if (this.#vectors.row(keyOf(state, slot)) < 0) absent.push(keyOf(state, slot))
    const missing: number[] = []
    for (const [i, key] of absent.entries()) {
      if (i % postsPerTurn === postsPerTurn - 1) await nextTurn()
      if (ended()) return []
      const vector = this.#store.models.readEmbedding(this.encoder.hash, textKey(positionOf(key), rowOf(key)))
      if (vector?.length === this.encoder.dim) this.#vectors.set(key, vector)
      else if (!this.#unencodable.has(key)) missing.push(key)
    }
    return missing
  }

  async #encodeMissing(missing: readonly number[], ended: () => boolean): Promise<void> {
    await this.#track(missing, async () => {
      for (const [position, keys] of Map.groupBy(missing, positionOf)) {
        const records = await readCandidates(this.#store, position, keys.map(rowOf))
        for (let from = 0; from < keys.length && !ended(); from += postsPerTurn) {
          const to = from + postsPerTurn
          await this.#encodePart(keys.slice(from, to), records.slice(from, to), ended)
        }
      }
    })
  }

  async #encodePart(
    keys: readonly number[],
    texts: readonly Uint8Array[],
    ended: () => boolean,
  ): Promise<void> {
    const made = await this.#parts.quarantine.encodeAll(textBatchEncoder(this.encoder), texts, {
      ended,
      onQuarantined: (row, error) => this.#logQuarantined(texts[row]!, error),
    })
    if (this.#store.closed) return
    const encoded = this.#encodedTexts(keys, made)
    if (encoded !== null) await this.#store.models.putEmbeddings(encoded.encoder, encoded.entries)
    this.#keep(keys, made)
    if (ended()) return
    for (const [i, key] of keys.entries()) if (made.encoded[i] !== 1) this.#unencodable.add(key)
  }

  #forget(key: number): void {
    this.#vectors.delete(key)
    this.#unencodable.delete(key)
  }

  async #track<Result>(keys: readonly number[], work: () => Promise<Result>): Promise<Result> {
    const working = work()
    for (const key of keys) this.#inProgress.set(key, working)
    try {
      return await working
    } finally {
      for (const key of keys) this.#inProgress.delete(key)
    }
  }

  #keep(keys: readonly number[], made: Vectors): void {
    for (const [i, key] of keys.entries())
      if (made.encoded[i] === 1) this.#vectors.set(key, this.#vectorOf(made, i))
  }

  /** The vectors as the store keeps them; null when there are none. */
  #encodedTexts(keys: readonly number[], made: Vectors): EncodedTexts | null {
    const entries = keys.flatMap((key, i) =>
      made.encoded[i] === 1
        ? [{ key: textKey(positionOf(key), rowOf(key)), vector: this.#vectorOf(made, i) }]
        : [],
    )
    return entries.length === 0 ? null : { encoder: this.encoder.hash, entries }
  }

  #vectorOf({ vectors }: Vectors, index: number): Float32Array {
    const { dim } = this.encoder
    return vectors.subarray(index * dim, (index + 1) * dim)
  }

  #logQuarantined(record: Uint8Array, { message }: ModelError): void {
    const { gall_id, post_no } = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown>
    this.#parts.log.error(
      { gall_id, post_no, problem: message },
      'text quarantined: the text encoder fails on it; its post is scored without it until the service restarts',
    )
  }
}

/** The key of the post in a slot: where it entered. */
function keyOf(state: PoolState, slot: number): number {
  return postKey(state.enteredPosition[slot]!, state.enteredRow[slot]!)
}

/** `row`: the place of the post among those that entered with the cycle at `position`. */
function postKey(position: number, row: number): number {
  assert(row < rowCountMax, 'a cycle has fewer rows than a key can distinguish')
  return position * rowCountMax + row
}

function positionOf(key: number): number {
  return Math.floor(key / rowCountMax)
}

function rowOf(key: number): number {
  return key % rowCountMax
}
