/**
 * Vectors of one model for replayed cycles: from the store, or computed during the replay and cached, so that a post that
 * is pending in several cycles is encoded once. Nothing is stored.
 */
import { textKey } from '../../cycle/index.js'
import type { ImageEncoder, TextEncoder } from '../../model/index.js'
import { gallIdAt, type PoolState } from '../../pool/index.js'
import type { Position, Store } from '../../store/index.js'
import { candidateRows, postName } from '../recorded/records.js'

export class VectorCache {
  readonly #store: Store
  /** The key is the name of a text, or the hash of an image. */
  readonly #made = new Map<string, Float32Array>()
  readonly #rows = new Map<Position, Map<string, number>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The vector of the text of the post in a slot. */
  text(encoder: TextEncoder, state: PoolState, slot: number): Float32Array | undefined {
    const { name, position, row } = this.#textPlace(state, slot)
    const made = this.#made.get(name)
    return made !== undefined || row === undefined ? made : this.#stored(encoder, textKey(position, row))
  }

  keepText(state: PoolState, slot: number, vector: Float32Array): void {
    this.#made.set(this.#textPlace(state, slot).name, vector)
  }

  /** The vector of the image with this hash. */
  image(encoder: ImageEncoder, sha256: Uint8Array): Float32Array | undefined {
    return this.#made.get(hex(sha256)) ?? this.#stored(encoder, sha256)
  }

  keepImage(sha256: Uint8Array, vector: Float32Array): void {
    this.#made.set(hex(sha256), vector)
  }

  /** Ignores a vector of another dimension, which another encoder has computed. */
  #stored({ hash, dim }: TextEncoder | ImageEncoder, key: Uint8Array): Float32Array | undefined {
    const vector = this.#store.models.readEmbedding(hash, key)
    return vector?.length === dim ? vector : undefined
  }

  /** Looks the post up by name: rows of a replay may differ, because it lacks posts that had entered earlier. */
  #textPlace(
    state: PoolState,
    slot: number,
  ): { readonly name: string; readonly position: Position; readonly row: number | undefined } {
    const position = state.enteredPosition[slot]!
    const rows = this.#rows.get(position) ?? candidateRows(this.#store, position)
    this.#rows.set(position, rows)
    const post = postName(gallIdAt(state, slot), state.postNo[slot]!)
    return { name: `${position} ${post}`, position, row: rows.get(post) }
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
