/**
 * The native decoder: bytes to `CycleColumns` in one call of the addon. It decodes only bodies that it accepts; the
 * reference decoder examines all others and produces the error messages.
 */
import type {
  Arena,
  CandidateColumns,
  CandidateScoreColumns,
  CycleColumns,
  EngagementColumns,
  RemovalColumns,
} from '../contract/index.js'
import { unknownNameCountMax } from './decode-cycle.js'
import type { NativeAddon, NativeFindings } from './native-addon.js'
import { cyclePlan, type ListName, type NativePlan } from './native-plan.js'

/** Decodes a body, or returns a code of `errorSentences` for a body that the reference decoder has to examine. */
export type NativeDecode = (body: Uint8Array, arena: Arena) => CycleColumns | number

/** A part of an arena that holds all columns of the plan. */
interface ColumnMemory {
  readonly buffer: ArrayBuffer
  /** Byte offset of each column of the plan. */
  readonly starts: Uint32Array
  /** Rows that fit, by object. */
  readonly capacities: Uint32Array
}

/** Capacity of a list without a maximum. A cycle with more rows is decoded a second time, with more memory. */
const uncappedRowCount = 1024
/** Columns whose starts differ by a multiple of 4 KiB would map to the same cache sets, so each gets one extra line. */
const lineBytes = 64

export function createNativeDecode(addon: NativeAddon): NativeDecode {
  const plan = cyclePlan()
  const decoder = new addon.Decoder(plan.json)
  const tooManyRows = addon.errorSentences.length
  const decode = (body: Uint8Array, memory: ColumnMemory): ReturnType<typeof decoder.decode> =>
    decoder.decode(body, memory.buffer, memory.starts, memory.capacities)
  return (body, arena) => {
    let memory = allocateColumns(plan, arena)
    let outcome = decode(body, memory)
    if (isRowCounts(outcome)) {
      if (outcome.some((count, object) => count > (plan.rowCountsMax[object] as number))) return tooManyRows
      memory = allocateColumns(plan, arena, outcome)
      outcome = decode(body, memory)
    }
    if (isRowCounts(outcome)) return tooManyRows
    return typeof outcome === 'number' ? outcome : cycleColumns(plan, body, memory, outcome)
  }
}

function isRowCounts(outcome: NativeFindings | readonly number[] | number): outcome is readonly number[] {
  return Array.isArray(outcome)
}

/** Memory for all rows that each list may have, and at least `rowCounts`. */
function allocateColumns(plan: NativePlan, arena: Arena, rowCounts: readonly number[] = []): ColumnMemory {
  const capacities = Uint32Array.from(plan.rowCountsMax, (max, object) =>
    Math.max(max === Infinity ? uncappedRowCount : max, rowCounts[object] ?? 0),
  )
  let bytes = 0
  const offsets = plan.columns.map(({ object, type }) => {
    const offset = bytes
    const columnBytes = (capacities[object] as number) * type.BYTES_PER_ELEMENT
    bytes += (Math.ceil(columnBytes / lineBytes) + 1) * lineBytes
    return offset
  })
  const { buffer, start } = arena.bytes(bytes)
  return { buffer, starts: Uint32Array.from(offsets, (offset) => start + offset), capacities }
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
    memberOrder: found.memberOrder.map((member) => plan.rootMembers[member] as string),
    candidates: list('candidates') as CandidateColumns,
    engagement: list('engagement') as EngagementColumns,
    candidateScores: list('candidate_scores') as CandidateScoreColumns,
    removals: list('removals') as RemovalColumns,
    unknownFields: unknownFields(plan, found),
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

/** The first `count` rows of an object of the plan; a column `title.chars` is `chars` in the group `title`. */
function columnsOf(plan: NativePlan, memory: ColumnMemory, object: number, count: number): ColumnGroup {
  const columns: ColumnGroup = { count }
  plan.columns.forEach((column, index) => {
    if (column.object !== object) return
    const values = new column.type(memory.buffer, memory.starts[index], count)
    const [first = '', second] = column.names
    if (second === undefined) columns[first] = values
    else ((columns[first] ??= {}) as ColumnGroup)[second] = values
  })
  return columns
}

/** In the order of the reference: those of the body, then list by list, each name once. */
function unknownFields(plan: NativePlan, found: NativeFindings): string[] {
  const names = found.unknownNames.flatMap((group, object) =>
    group.map((name) => (object === 0 ? name : `${plan.lists[object - 1] as string}[].${name}`)),
  )
  return [...new Set(names)].slice(0, unknownNameCountMax)
}
