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
import { allocateColumns, columnsOf, type ColumnMemory } from './native-columns.js'
import type { ListName } from './native-layout.js'
import { cyclePlan, type NativePlan } from './native-plan.js'

/** Decodes a body, or returns a code of `errorSentences` for a body that the reference decoder has to examine. */
export type NativeDecode = (body: Uint8Array, arena: Arena) => CycleColumns | number

export function createNativeDecode(addon: NativeAddon): NativeDecode {
  const plan = cyclePlan()
  const decoder = new addon.Decoder(plan.json)
  const tooManyRows = addon.errorSentences.length
  const decode = (body: Uint8Array, memory: ColumnMemory): ReturnType<typeof decoder.decode> =>
    decoder.decode(body, memory.buffer, memory.starts, memory.capacities)
  return (body, arena) => {
    let memory = allocateColumns(plan, arena)
    let answer = decode(body, memory)
    if (isRowCounts(answer)) {
      if (answer.some((count, object) => count > (plan.rowCountsMax[object] as number))) return tooManyRows
      memory = allocateColumns(plan, arena, answer)
      answer = decode(body, memory)
    }
    if (isRowCounts(answer)) return tooManyRows
    return typeof answer === 'number' ? answer : cycleColumns(plan, body, memory, answer)
  }
}

function isRowCounts(answer: NativeFindings | readonly number[] | number): answer is readonly number[] {
  return Array.isArray(answer)
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

/** The columns of the body itself (`rootLayout`). */
interface RootColumns {
  readonly cycleIdStart: Uint32Array
  readonly cycleIdEnd: Uint32Array
  readonly cycleTimeStart: Uint32Array
  readonly cycleTimeEnd: Uint32Array
  readonly cycleAtMs: Float64Array
  readonly cycleAtFraction: Float64Array
}

/** In the order of the reference: those of the body, then list by list, each name once. */
function unknownFields(plan: NativePlan, found: NativeFindings): string[] {
  const names = found.unknownNames.flatMap((group, object) =>
    group.map((name) => (object === 0 ? name : `${plan.lists[object - 1] as string}[].${name}`)),
  )
  return [...new Set(names)].slice(0, unknownNameCountMax)
}
