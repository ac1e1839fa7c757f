/**
 * Overwrites memory that is used again as soon as it is released, so that a reader which keeps it too long fails, or scores with
 * NaN. Each function takes a class of the sources, or the same class of a build.
 */
import { setImmediate } from 'node:timers'

interface Class<Instance> {
  readonly prototype: Instance
}

interface Body {
  readonly bytes: () => Uint8Array
  release: (this: Body) => void
}

/** `GrowingBytes` of src/server: the body of a request, when its call has ended. */
export function poisonBodies({ prototype }: Class<Body>): void {
  const { release } = prototype
  prototype.release = function (): void {
    this.bytes().fill(0xff)
    release.call(this)
  }
}

interface Scratch {
  take: (this: Scratch, bytes: number) => Uint8Array
  end: (this: Scratch) => void
}

/** `Scratch` of src/store/records: packed records, when their write has settled. */
export function poisonScratch({ prototype }: Class<Scratch>): void {
  const lent = new WeakMap<Scratch, Uint8Array[]>()
  const { end } = prototype
  prototype.take = function (bytes): Uint8Array {
    const memory = new Uint8Array(bytes)
    lent.set(this, [...(lent.get(this) ?? []), memory])
    return memory
  }
  prototype.end = function (): void {
    for (const memory of lent.get(this) ?? []) memory.fill(0xff)
    lent.delete(this)
    end.call(this)
  }
}

interface Ranges<Range> {
  getRange: (this: Ranges<Range>, range: Range) => Iterable<{ readonly value: Uint8Array }>
}

/** `MemoryDatabase` of src/store/memory: the values of a range, at the end of the turn of the event loop. */
export function poisonRanges<Range>({ prototype }: Class<Ranges<Range>>): void {
  const { getRange } = prototype
  prototype.getRange = function (range) {
    const rows = [...getRange.call(this, range)]
    setImmediate(() => rows.forEach(({ value }) => value.fill(0xff)))
    return rows
  }
}

interface Vectors {
  readonly vectors: Float32Array
  readonly dim: number
  row: (key: never) => number
  delete: (this: Vectors, key: never) => void
}

/** `VectorTable` of src/cycle/embeddings: the vector of a key that is deleted. */
export function poisonVectors({ prototype }: Class<Vectors>): void {
  const { delete: release } = prototype
  prototype.delete = function (key): void {
    const row = this.row(key)
    if (row >= 0) this.vectors.fill(NaN, row * this.dim, (row + 1) * this.dim)
    release.call(this, key)
  }
}
