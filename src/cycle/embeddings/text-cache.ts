/**
 * Vectors of the pending posts' texts for one encoder. Each text is encoded once, when its post enters, and its vector is
 * stored with the cycle that brought the post.
 */
import type { EmbeddingColumn, ModelError, TextEncoder, Vectors } from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import type { Embedding, Store } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import { textBatchEncoder, type Quarantine } from './quarantine.js'
import { readCandidates, textKey } from './stored-texts.js'
import { VectorTable } from './vectors.js'

/** Posts that are looked up, or encoded, between two turns of the event loop. */
const postsPerTurn = 200
/** More than the rows of one cycle: a body of 16 MiB has no room for as many. */
const rowCountMax = 2 ** 21

export interface CacheParts {
  readonly quarantine: Quarantine
  readonly log: { error(fields: object, message: string): void }
}

/** Vectors of posts that enter with one cycle. */
export interface EnteringTexts extends Vectors {
  readonly position: number
  /** Posts by their place among those that enter. */
  readonly rows: readonly number[]
}

export class TextCache {
  /** The encoder of the newest model that uses the cache: the processes of an older one may be gone. */
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

  /**
   * Encodes the posts that enter with the cycle at `position` and are not in the cache, with `encoder`; null when all
   * are. `records`: their raw JSON. `forgetEntering` undoes it.
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
      const texts = rows.map((row) => records[row] as Uint8Array)
      const made = await this.#parts.quarantine.encode(textBatchEncoder(encoder), texts, {
        budgetMs,
        onQuarantined: (row, error) => this.#logQuarantined(texts[row] as Uint8Array, error),
      })
      const entering = { position, rows, ...made }
      this.#keep(entering)
      return entering
    })
  }

  /** Removes what `encodeEntering` has added: the cycle was not stored, and other posts may enter at its position. */
  forgetEntering({ position, rows }: EnteringTexts): void {
    for (const row of rows) this.#vectors.delete(postKey(position, row))
  }

  /** The vectors of `entering` that are stored with its cycle. */
  records(entering: EnteringTexts): Embedding[] {
    return this.#encodedOf(entering).map(({ row, vector }) => ({
      key: textKey(entering.position, row),
      vector,
    }))
  }

  /** By slot of `state`. */
  column(state: PoolState): EmbeddingColumn {
    const row = new Int32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) row[slot] = this.#vectors.row(keyOf(state, slot))
    return { dim: this.encoder.dim, vectors: this.#vectors.vectors, row }
  }

  /** Removes posts that are not pending any more, once they are the majority. */
  sweep(state: PoolState): void {
    if (this.#vectors.count < 2 * Math.max(state.count, this.#countAfterSweep, postsPerTurn)) return
    const pending = new Set(Array.from({ length: state.count }, (_, slot) => keyOf(state, slot)))
    this.#vectors.retain(pending)
    for (const key of this.#unencodable) if (!pending.has(key)) this.#unencodable.delete(key)
    this.#countAfterSweep = this.#vectors.count
  }

  /**
   * Completes the cache for the pending posts: reads the stored vectors, and encodes and stores the others. `state` is
   * read again after every wait, because cycles go on meanwhile. Stops when `ended` returns true.
   */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    for (;;) {
      const missing = await this.#readStored(state(), ended)
      if (missing.length === 0 || ended()) return
      const others = missing.flatMap(
        ({ position, row }) => this.#inProgress.get(postKey(position, row)) ?? [],
      )
      if (others.length > 0) await Promise.allSettled(others)
      else await this.#encodeMissing(missing, ended)
    }
  }

  /** Returns the keys of the posts without a stored vector. */
  async #readStored(state: PoolState, ended: () => boolean): Promise<PostKey[]> {
    const absent: PostKey[] = []
    for (let slot = 0; slot < state.count; slot++)
      if (this.#vectors.row(keyOf(state, slot)) < 0) absent.push(keyParts(state, slot))
    const missing: PostKey[] = []
    for (const [i, { position, row }] of absent.entries()) {
      if (i % postsPerTurn === postsPerTurn - 1) await nextTurn()
      if (ended()) return []
      const vector = this.#store.models.readEmbedding(this.encoder.hash, textKey(position, row))
      if (vector?.length === this.encoder.dim) this.#vectors.set(postKey(position, row), vector)
      else if (!this.#unencodable.has(postKey(position, row))) missing.push({ position, row })
    }
    return missing
  }

  async #encodeMissing(missing: readonly PostKey[], ended: () => boolean): Promise<void> {
    const keys = missing.map(({ position, row }) => postKey(position, row))
    await this.#track(keys, async () => {
      for (const [position, rows] of rowsByPosition(missing)) {
        const records = await readCandidates(this.#store, position, rows)
        for (let from = 0; from < rows.length && !ended(); from += postsPerTurn) {
          const to = from + postsPerTurn
          await this.#encodePart(position, rows.slice(from, to), records.slice(from, to), ended)
        }
      }
    })
  }

  async #encodePart(
    position: number,
    rows: readonly number[],
    texts: readonly Uint8Array[],
    ended: () => boolean,
  ): Promise<void> {
    const made = await this.#parts.quarantine.encodeAll(textBatchEncoder(this.encoder), texts, {
      ended,
      onQuarantined: (row, error) => this.#logQuarantined(texts[row] as Uint8Array, error),
    })
    if (this.#store.closed) return
    const entering = { position, rows, ...made }
    await this.#store.models.putEmbeddings(this.encoder.hash, this.records(entering))
    this.#keep(entering)
    if (ended()) return
    for (const [i, row] of rows.entries())
      if (made.encoded[i] !== 1) this.#unencodable.add(postKey(position, row))
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

  #keep(texts: EnteringTexts): void {
    for (const { row, vector } of this.#encodedOf(texts))
      this.#vectors.set(postKey(texts.position, row), vector)
  }

  #encodedOf({ rows, vectors, encoded }: EnteringTexts): { row: number; vector: Float32Array }[] {
    const { dim } = this.encoder
    return rows.flatMap((row, i) =>
      encoded[i] === 1 ? [{ row, vector: vectors.subarray(i * dim, (i + 1) * dim) }] : [],
    )
  }

  #logQuarantined(record: Uint8Array, { message }: ModelError): void {
    const { gall_id, post_no } = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown>
    this.#parts.log.error(
      { gall_id, post_no, problem: message },
      'text quarantined: it ends the text encoder; its post is scored without it until the service restarts',
    )
  }
}

/** Where a post entered: the position of the cycle, and its row among the posts that entered with it. */
interface PostKey {
  readonly position: number
  readonly row: number
}

function keyParts(state: PoolState, slot: number): PostKey {
  return { position: state.enteredPosition[slot] as number, row: state.enteredRow[slot] as number }
}

function keyOf(state: PoolState, slot: number): number {
  return postKey(state.enteredPosition[slot] as number, state.enteredRow[slot] as number)
}

function postKey(position: number, row: number): number {
  return position * rowCountMax + row
}

function rowsByPosition(keys: readonly PostKey[]): Map<number, number[]> {
  const rows = new Map<number, number[]>()
  for (const { position, row } of keys) {
    const known = rows.get(position)
    if (known === undefined) rows.set(position, [row])
    else known.push(row)
  }
  return rows
}
