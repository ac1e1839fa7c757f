/**
 * Vectors of one model for replayed cycles: from the store, or computed during the replay and cached, so that a post that
 * is pending in several cycles is encoded once. Nothing is stored.
 */
import { postName, textKey } from '../cycle/index.js'
import type { Model } from '../model/index.js'
import { gallIdAt, type PoolState } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'
import { enteredRows } from './records.js'

export class VectorCache {
  readonly #store: Store
  readonly #text: Model['text']
  readonly #image: Model['image']
  readonly #texts = new Map<string, Float32Array>()
  readonly #images = new Map<string, Float32Array>()
  readonly #rows = new Map<Position, Map<string, number>>()

  constructor(store: Store, { text, image }: Pick<Model, 'text' | 'image'>) {
    this.#store = store
    this.#text = text
    this.#image = image
  }

  /** The vector of the text of the post in a slot. */
  text(state: PoolState, slot: number): Float32Array | undefined {
    if (this.#text === null) return undefined
    const place = this.#textPlace(state, slot)
    const made = this.#texts.get(place.name)
    if (made !== undefined || place.row === undefined) return made
    const key = textKey(place.position, place.row)
    return sized(this.#store.models.readEmbedding(this.#text.hash, key), this.#text.dim)
  }

  keepText(state: PoolState, slot: number, vector: Float32Array): void {
    this.#texts.set(this.#textPlace(state, slot).name, vector)
  }

  /** The vector of the image with this hash. */
  image(sha256: Uint8Array): Float32Array | undefined {
    if (this.#image === null) return undefined
    return (
      this.#images.get(hex(sha256)) ??
      sized(this.#store.models.readEmbedding(this.#image.hash, sha256), this.#image.dim)
    )
  }

  keepImage(sha256: Uint8Array, vector: Float32Array): void {
    this.#images.set(hex(sha256), vector)
  }

  /** Looks the post up by name: rows of a replay may differ, because it lacks posts that had entered earlier. */
  #textPlace(
    state: PoolState,
    slot: number,
  ): { readonly name: string; readonly position: Position; readonly row: number | undefined } {
    const position = state.enteredPosition[slot] as number
    const rows = this.#rows.get(position) ?? enteredRows(this.#store, position)
    this.#rows.set(position, rows)
    const post = postName(gallIdAt(state, slot), state.postNo[slot] as number)
    return { name: `${position} ${post}`, position, row: rows.get(post) }
  }
}

/** Ignores a vector of another dimension, which another encoder has computed. */
function sized(vector: Float32Array | undefined, dim: number): Float32Array | undefined {
  return vector?.length === dim ? vector : undefined
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
