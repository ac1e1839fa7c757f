/**
 * Memory for columns: one buffer holds all columns of a cycle and goes back to a pool when the cycle has ended, so that
 * a busy service allocates nothing. Columns that nobody releases are collected like any other object.
 */
import type { ColumnType } from './native-layout.js'
import type { NativePlan } from './native-plan.js'

/** One cycle's memory. */
export interface Arena {
  readonly buffer: ArrayBuffer
  /** Byte offset of each column of the plan. */
  readonly starts: Uint32Array
  /** Rows that fit, object by object. */
  readonly capacities: Uint32Array
}

const entryBytes: Readonly<Record<ColumnType, number>> = { f64: 8, u32: 4, u8: 1 }

/** A list without a cap starts with room for this many rows. */
const uncappedRowCountStart = 1024
/** A cycle in work and five in the queue; more cycles at a time make buffers of their own. */
const keptCountMax = 6
/** A larger buffer served a rare flood of candidates and is not kept. */
const keptBytesMax = 8 * 1024 * 1024
/** Columns whose starts differ by a multiple of 4 kB would share few cache lines: each is moved on by one line. */
const lineBytes = 64

export class ArenaPool {
  readonly #plan: NativePlan
  readonly #free: Arena[] = []
  #capacities: readonly number[]

  constructor(plan: NativePlan) {
    this.#plan = plan
    this.#capacities = this.#startCapacities()
  }

  take(): Arena {
    return this.#free.pop() ?? allocate(this.#plan, this.#capacities)
  }

  /** Takes memory back. Its columns must not be read any more. */
  release(arena: Arena): void {
    if (arena.buffer.byteLength > keptBytesMax) this.#capacities = this.#startCapacities()
    else if (this.#free.length < keptCountMax && this.#fits(arena)) this.#free.push(arena)
  }

  /** Memory for at least `rowCounts` rows, also from now on. */
  grow(rowCounts: readonly number[]): Arena {
    this.#free.length = 0
    this.#capacities = this.#capacities.map((capacity, object) => {
      const wanted = rowCounts[object] as number
      return wanted <= capacity ? capacity : 2 ** Math.ceil(Math.log2(wanted))
    })
    return this.take()
  }

  #fits(arena: Arena): boolean {
    return this.#capacities.every((capacity, object) => capacity === arena.capacities[object])
  }

  #startCapacities(): number[] {
    return this.#plan.rowCountsMax.map((max) => (max === Infinity ? uncappedRowCountStart : max))
  }
}

function allocate(plan: NativePlan, capacities: readonly number[]): Arena {
  let bytes = 0
  const starts = plan.columns.map(({ object, type }) => {
    const start = bytes
    const columnBytes = (capacities[object] as number) * entryBytes[type]
    bytes += (Math.ceil(columnBytes / lineBytes) + 1) * lineBytes
    return start
  })
  return {
    buffer: new ArrayBuffer(bytes),
    starts: Uint32Array.from(starts),
    capacities: Uint32Array.from(capacities),
  }
}
