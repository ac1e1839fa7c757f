/**
 * The native decoder: bytes to `CycleColumns` in one call of the addon. It decodes only bodies that it accepts; the
 * reference decoder examines all others and produces the error messages.
 */
import {
  cycleShape,
  type CandidateColumns,
  type CandidateScoreColumns,
  type CycleColumns,
  type EngagementColumns,
  type RemovalColumns,
} from '../contract/index.js'
import { pad } from './body-buffer.js'
import type { NativeAddon, NativeFindings } from './native-addon.js'
import { cyclePlan, type ListName, type NativePlan } from './native-plan.js'

/** Decodes a body, or returns null for a body that the reference decoder has to examine. */
export type NativeDecode = (body: Uint8Array) => CycleColumns | null

/** Where the decoder writes: one block for all columns of the plan. */
interface ColumnMemory {
  readonly buffer: ArrayBuffer
  /** Byte offset of each column of the plan. */
  readonly starts: Uint32Array
  /** Rows that fit, by object. */
  readonly capacities: Uint32Array
}

/** Columns whose starts differ by a multiple of 4 KiB would map to the same cache sets, so each gets one extra line. */
const lineBytes = 64

const bodyMembers = cycleShape.members.map(({ name }) => name)

export function createNativeDecode(addon: NativeAddon): NativeDecode {
  const plan = cyclePlan()
  const decoder = new addon.Decoder(plan.json)
  let scratch = new ArrayBuffer(0)
  return (body) => {
    const bytes = pad(body)
    const layout = layoutOf(plan, body.length)
    if (scratch.byteLength < layout.bytes) scratch = new ArrayBuffer(layout.bytes)
    const memory = { buffer: scratch, ...layout }
    const found = decoder.decode(bytes, memory.buffer, memory.starts, memory.capacities)
    return found === null ? null : cycleColumns(plan, bytes, memory, found)
  }
}

/** For as many rows as a body of `bodyBytes` bytes can contain, at most the maximum of each list. */
function layoutOf(plan: NativePlan, bodyBytes: number): Omit<ColumnMemory, 'buffer'> & { bytes: number } {
  const capacities = Uint32Array.from(plan.objects, ({ rowCountMax, rowBytesMin }) =>
    Math.min(rowCountMax, Math.floor(bodyBytes / rowBytesMin) + 1),
  )
  let bytes = 0
  const starts = Uint32Array.from(plan.columns, ({ object, type }) => {
    const start = bytes
    const columnBytes = (capacities[object] as number) * type.BYTES_PER_ELEMENT
    bytes += (Math.ceil(columnBytes / lineBytes) + 1) * lineBytes
    return start
  })
  return { bytes, starts, capacities }
}

function cycleColumns(
  plan: NativePlan,
  body: Uint8Array,
  memory: ColumnMemory,
  found: NativeFindings,
): CycleColumns {
  const root = columnsOf(plan, memory, 0, 1) as unknown as RootColumns
  const text = (start: Uint32Array, end: Uint32Array): string =>
    Buffer.from(
      body.buffer,
      body.byteOffset + (start[0] as number),
      (end[0] as number) - (start[0] as number),
    ).toString('latin1')
  const list = (name: ListName): unknown => {
    const object = plan.lists.indexOf(name) + 1
    return columnsOf(plan, memory, object, found.rowCounts[object] as number)
  }
  return {
    cycleId: text(root.cycleIdStart, root.cycleIdEnd),
    cycleTime: text(root.cycleTimeStart, root.cycleTimeEnd),
    cycleAt: { ms: root.cycleAtMs[0] as number, fraction: root.cycleAtFraction[0] as number },
    memberOrder: found.memberOrder.map((member) => bodyMembers[member] as string),
    candidates: list('candidates') as CandidateColumns,
    engagement: list('engagement') as EngagementColumns,
    candidateScores: list('candidate_scores') as CandidateScoreColumns,
    removals: list('removals') as RemovalColumns,
    // A body with unknown members is left to the reference decoder.
    unknownFields: [],
    galleries: found.keys,
  }
}

/** The columns of the body itself (`bodyColumns` of native-plan.ts). */
interface RootColumns {
  readonly cycleIdStart: Uint32Array
  readonly cycleIdEnd: Uint32Array
  readonly cycleTimeStart: Uint32Array
  readonly cycleTimeEnd: Uint32Array
  readonly cycleAtMs: Float64Array
  readonly cycleAtFraction: Float64Array
}

/** Columns by name, some of them in groups such as `title`, and the number of their rows. */
interface ColumnGroup {
  [name: string]: Float64Array | Uint32Array | Uint8Array | ColumnGroup | number
}

/**
 * Copies of the first `count` rows of an object of the plan; a column `title.chars` is `chars` in the group `title`. The
 * block has room for any body of this length, most of it unused, and the next body overwrites it.
 */
function columnsOf(plan: NativePlan, memory: ColumnMemory, object: number, count: number): ColumnGroup {
  const columns: ColumnGroup = { count }
  plan.columns.forEach((column, index) => {
    if (column.object !== object) return
    const values = new column.type(memory.buffer, memory.starts[index], count).slice()
    const [first = '', second] = column.names
    if (second === undefined) columns[first] = values
    else ((columns[first] ??= {}) as ColumnGroup)[second] = values
  })
  return columns
}
