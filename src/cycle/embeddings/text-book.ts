/**
 * Vectors of the pending posts' texts for one encoder: each made once, when its post enters, and kept in the store
 * with the cycle that brought the post.
 */
import type { EmbeddingColumn, TextEncoder, Vectors } from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import type { Embedding, Store } from '../../store/index.js'
import { readCandidates } from './candidate-records.js'
import { CarefulTexts, type CarefulTextsParts } from './careful-texts.js'
import { nextTurn } from '../next-turn.js'
import { textKey } from './text-key.js'
import { VectorArena } from './vector-arena.js'

/** Posts are looked up, or encoded, so many at a time between two turns of the event loop. */
const postsPerTurn = 200
/** Of one piece of work in the background: a cycle's own texts wait no longer for it. */
const pieceMs = 250
/** Rows of one cycle are fewer: a body of 16 MiB has no room for more. */
const rowCountMax = 2 ** 21

/** Vectors of the posts that enter with a cycle. */
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
  /** Texts that are being encoded: nobody else need do it. The promises settle when their vectors are kept. */
  readonly #underWay = new Map<number, Promise<unknown>>()
  /** Texts that the encoder made nothing of; not tried again and again. */
  readonly #failed = new Set<number>()
  readonly #careful: CarefulTexts

  constructor(encoder: TextEncoder, store: Store, parts: CarefulTextsParts) {
    this.encoder = encoder
    this.#store = store
    this.#careful = new CarefulTexts(parts)
    this.#arena = new VectorArena(encoder.dim)
  }

  /**
   * Encodes and keeps what the book lacks of the posts that enter with the cycle at `position`; null where it lacks
   * nothing. `encoder` does the work; `forget` takes it back.
   */
  async encode(
    encoder: TextEncoder,
    position: number,
    records: readonly Uint8Array[],
    budgetMs: number,
  ): Promise<EnteringTexts | null> {
    const rows = [...records.keys()].filter((row) => {
      const key = postKey(position, row)
      return this.#arena.row(key) < 0 && !this.#underWay.has(key) && !this.#failed.has(key)
    })
    if (rows.length === 0) return null
    const keys = rows.map((row) => postKey(position, row))
    return this.#marked(keys, async () => {
      const texts = rows.map((row) => records[row] as Uint8Array)
      const { vectors, encoded } = await this.#careful.encode(encoder, texts, budgetMs)
      const entering = { position, rows, vectors, encoded }
      for (const { row, vector } of this.#encodedOf(entering)) this.#arena.set(postKey(position, row), vector)
      return entering
    })
  }

  /** By slot of `state`. */
  column(state: PoolState): EmbeddingColumn {
    const row = new Int32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) row[slot] = this.#arena.row(keyOf(state, slot))
    return { dim: this.encoder.dim, vectors: this.#arena.vectors, row }
  }

  /** Takes back what `encode` has kept of posts whose cycle was not stored: others may enter in their place. */
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
    const pending = new Set(Array.from({ length: state.count }, (_, slot) => keyOf(state, slot)))
    this.#arena.retain(pending)
    for (const key of this.#failed) if (!pending.has(key)) this.#failed.delete(key)
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
      const others = lacking.flatMap(({ position, row }) => this.#underWay.get(postKey(position, row)) ?? [])
      if (others.length > 0) await Promise.allSettled(others)
      else await this.#compute(lacking, ended)
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

  async #compute(lacking: readonly PostKey[], ended: () => boolean): Promise<void> {
    const keys = lacking.map(({ position, row }) => postKey(position, row))
    await this.#marked(keys, async () => {
      for (const [position, rows] of byPosition(lacking)) {
        const records = await readCandidates(this.#store, position, rows)
        for (let from = 0; from < rows.length && !ended(); from += postsPerTurn) {
          const to = from + postsPerTurn
          await this.#computePart(position, rows.slice(from, to), records.slice(from, to), ended)
        }
      }
    })
  }

  /**
   * Encodes in pieces, each of which takes as many texts as its time allows, and at least one that can be read. Where one
   * makes nothing of several, each is tried alone before it counts as failed.
   */
  async #computePart(
    position: number,
    rows: readonly number[],
    records: readonly Uint8Array[],
    ended: () => boolean,
  ): Promise<void> {
    let left = [...rows.keys()]
    while (left.length > 0 && !ended()) {
      const texts = left.map((i) => records[i] as Uint8Array)
      const { vectors, encoded } = await this.#careful.encodeAtLeisure(this.encoder, texts, pieceMs, ended)
      if (ended()) return
      await this.#write({ position, rows: left.map((i) => rows[i] as number), vectors, encoded })
      const lacking = left.filter((_, place) => encoded[place] !== 1)
      if (lacking.length < left.length) {
        left = lacking
        continue
      }
      if (left.length === 1) this.#failed.add(postKey(position, rows[left[0] as number] as number))
      else
        for (const i of left)
          await this.#computePart(position, [rows[i] as number], [records[i] as Uint8Array], ended)
      return
    }
  }

  async #write(texts: EnteringTexts): Promise<void> {
    await this.#store.models.putEmbeddings(this.encoder.hash, this.records(texts))
    for (const { row, vector } of this.#encodedOf(texts))
      this.#arena.set(postKey(texts.position, row), vector)
  }

  async #marked<Result>(keys: readonly number[], work: () => Promise<Result>): Promise<Result> {
    const working = work()
    for (const key of keys) this.#underWay.set(key, working)
    try {
      return await working
    } finally {
      for (const key of keys) this.#underWay.delete(key)
    }
  }

  #encodedOf({
    rows,
    vectors,
    encoded,
  }: Pick<EnteringTexts, 'rows'> & Vectors): { row: number; vector: Float32Array }[] {
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

function byPosition(keys: readonly PostKey[]): Map<number, number[]> {
  const rows = new Map<number, number[]>()
  for (const { position, row } of keys) {
    const known = rows.get(position)
    if (known === undefined) rows.set(position, [row])
    else known.push(row)
  }
  return rows
}
