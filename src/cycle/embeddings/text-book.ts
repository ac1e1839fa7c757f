/**
 * Vectors of the pending posts' texts for one encoder: each made once, when its post enters, and kept in the store
 * with the cycle that brought the post.
 */
import type { EmbeddingColumn, TextEncoder } from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import type { Embedding, Store } from '../../store/index.js'
import { readCandidates } from './candidate-records.js'
import { nextTurn } from './next-turn.js'
import { VectorArena } from './vector-arena.js'

/** Posts are looked up, or encoded, so many at a time between two turns of the event loop. */
const postsPerTurn = 200
/** Rows of one cycle are fewer: a body of 16 MiB has no room for more. */
const rowCountMax = 2 ** 21

/** Vectors of the posts that enter with a cycle that is not stored yet. */
export interface EnteringTexts {
  readonly position: number
  /** Posts by their place among those that enter. */
  readonly rows: readonly number[]
  /** [rows, dim]. */
  readonly vectors: Float32Array
  /** By row: 0 where the time was over before its turn. */
  readonly encoded: Uint8Array
}

export class TextBook {
  /** Of the newest model that uses the book: an older one's processes may be gone. */
  encoder: TextEncoder
  readonly #store: Store
  readonly #arena: VectorArena<number>
  #sweptCount = 0

  constructor(encoder: TextEncoder, store: Store) {
    this.encoder = encoder
    this.#store = store
    this.#arena = new VectorArena(encoder.dim)
  }

  /** Of `count` posts that enter with the cycle at `position`: those that the book lacks. */
  lacking(position: number, count: number): number[] {
    return Array.from({ length: count }, (_, row) => row).filter(
      (row) => this.#arena.row(postKey(position, row)) < 0,
    )
  }

  /** By slot of `state`, whose last posts are those of `entering`. */
  column(state: PoolState, entering: EnteringTexts | null): EmbeddingColumn {
    if (entering !== null) this.#keep(entering)
    const row = new Int32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) row[slot] = this.#arena.row(keyOf(state, slot))
    return { dim: this.encoder.dim, vectors: this.#arena.vectors, row }
  }

  /** Takes back what `column` has kept of posts whose cycle was not stored: others may enter in their place. */
  forget({ position, rows }: EnteringTexts): void {
    for (const row of rows) this.#arena.delete(postKey(position, row))
  }

  /** What of `entering` goes into the store with its cycle. */
  records(entering: EnteringTexts): Embedding[] {
    return this.#encodedOf(entering).map(({ row, vector }) => ({
      key: textKey(entering.position, row),
      vector,
    }))
  }

  /** Forgets posts that are no longer pending, now and then. */
  sweep(state: PoolState): void {
    if (this.#arena.count < 2 * Math.max(state.count, this.#sweptCount, postsPerTurn)) return
    this.#arena.retain(new Set(Array.from({ length: state.count }, (_, slot) => keyOf(state, slot))))
    this.#sweptCount = this.#arena.count
  }

  /**
   * Makes the book complete for the pending posts: vectors that are stored are read, others computed from the stored
   * requests and stored. `state` is asked again after every wait, since cycles go on meanwhile. Stops when `ended`.
   */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    for (;;) {
      const lacking = await this.#read(state(), ended)
      if (lacking.length === 0 || ended()) return
      await this.#compute(lacking, ended)
    }
  }

  /** Reads stored vectors; gives the keys of posts that have none. */
  async #read(state: PoolState, ended: () => boolean): Promise<PostKey[]> {
    const absent: PostKey[] = []
    for (let slot = 0; slot < state.count; slot++)
      if (this.#arena.row(keyOf(state, slot)) < 0) absent.push(keyParts(state, slot))
    const lacking: PostKey[] = []
    for (const [i, { position, row }] of absent.entries()) {
      if (i % postsPerTurn === postsPerTurn - 1) await nextTurn()
      if (ended()) return []
      const vector = this.#store.models.readEmbedding(this.encoder.hash, textKey(position, row))
      if (vector?.length === this.encoder.dim) this.#arena.set(postKey(position, row), vector)
      else if (!this.#failed.has(postKey(position, row))) lacking.push({ position, row })
    }
    return lacking
  }

  /** Texts that the encoder made nothing of; not tried again and again. */
  readonly #failed = new Set<number>()

  async #compute(lacking: readonly PostKey[], ended: () => boolean): Promise<void> {
    for (const [position, rows] of byPosition(lacking)) {
      const records = await readCandidates(this.#store, position, rows)
      for (let from = 0; from < rows.length; from += postsPerTurn) {
        if (ended()) return
        const part = rows.slice(from, from + postsPerTurn)
        const { vectors, encoded } = await this.encoder.encode(
          records.slice(from, from + postsPerTurn),
          Infinity,
        )
        const entries = part.flatMap((row, i) => {
          if (encoded[i] !== 1) {
            this.#failed.add(postKey(position, row))
            return []
          }
          const vector = vectors.slice(i * this.encoder.dim, (i + 1) * this.encoder.dim)
          return [{ row, embedding: { key: textKey(position, row), vector } }]
        })
        if (ended()) return
        await this.#store.models.putEmbeddings(
          this.encoder.hash,
          entries.map(({ embedding }) => embedding),
        )
        for (const { row, embedding } of entries) this.#arena.set(postKey(position, row), embedding.vector)
      }
    }
  }

  #keep(entering: EnteringTexts): void {
    for (const { row, vector } of this.#encodedOf(entering))
      this.#arena.set(postKey(entering.position, row), vector)
  }

  #encodedOf({ rows, vectors, encoded }: EnteringTexts): { row: number; vector: Float32Array }[] {
    const { dim } = this.encoder
    return rows.flatMap((row, i) =>
      encoded[i] === 1 ? [{ row, vector: vectors.subarray(i * dim, (i + 1) * dim) }] : [],
    )
  }
}

/** Where a post entered: position of the cycle, and its row among the posts that entered then. */
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

function textKey(position: number, row: number): Uint8Array {
  const key = Buffer.alloc(8)
  key.writeUInt32BE(position, 0)
  key.writeUInt32BE(row, 4)
  return key
}

function byPosition(keys: readonly PostKey[]): Map<number, number[]> {
  const rows = new Map<number, number[]>()
  for (const { position, row } of keys) {
    const known = rows.get(position)
    if (known === undefined) rows.set(position, [row])
    else known.push(row)
  }
  return rows
}
