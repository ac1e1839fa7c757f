/**
 * The native decoder behind the face of the reference: bytes to `CycleColumns` in one call of the addon. It answers
 * only for bodies that it accepts; all others are the reference decoder's, which words what is wrong.
 */
import type {
  CandidateColumns,
  CandidateScoreColumns,
  CycleColumns,
  EngagementColumns,
  RemovalColumns,
} from '../contract/index.js'
import { unknownNameCountMax } from './decode-cycle.js'
import type { NativeAddon, NativeFindings } from './native-addon.js'
import { ArenaPool, type Arena } from './native-arena.js'
import type { ListName } from './native-layout.js'
import { cyclePlan, type NativePlan } from './native-plan.js'
import { ColumnViews } from './native-views.js'

/** Columns that lie in memory of a pool. After `release` they must not be read any more. */
export type ReleasableColumns = CycleColumns & { readonly release: () => void }

/** A decoder that answers a code of `errorSentences` for what it leaves to the reference. */
export type NativeDecode = (body: Uint8Array) => ReleasableColumns | number

export function createNativeDecode(addon: NativeAddon): NativeDecode {
  const plan = cyclePlan()
  const decoder = new addon.Decoder(plan.json)
  const views = new ColumnViews(plan)
  const pool = new ArenaPool(plan)
  const tooManyRows = addon.errorSentences.length
  return (body) => {
    let arena = pool.take()
    let answer = decoder.decode(body, arena.buffer, arena.starts, arena.capacities)
    if (isRowCounts(answer)) {
      if (answer.some((count, object) => count > (plan.rowCountsMax[object] as number))) return tooManyRows
      arena = pool.grow(answer)
      answer = decoder.decode(body, arena.buffer, arena.starts, arena.capacities)
    }
    if (typeof answer === 'number' || isRowCounts(answer)) {
      pool.release(arena)
      return typeof answer === 'number' ? answer : tooManyRows
    }
    return cycleColumns(plan, views, body, arena, answer, pool)
  }
}

function isRowCounts(answer: NativeFindings | readonly number[] | number): answer is readonly number[] {
  return Array.isArray(answer)
}

function cycleColumns(
  plan: NativePlan,
  views: ColumnViews,
  body: Uint8Array,
  arena: Arena,
  found: NativeFindings,
  pool: ArenaPool,
): ReleasableColumns {
  const root = views.of(arena, 0, 1) as unknown as RootColumns
  const text = (start: Uint32Array, end: Uint32Array): string =>
    Buffer.from(
      body.buffer,
      body.byteOffset + (start[0] as number),
      (end[0] as number) - (start[0] as number),
    ).toString('latin1')
  const list = (name: ListName): unknown => {
    const object = plan.lists.indexOf(name) + 1
    return views.of(arena, object, found.rowCounts[object] as number)
  }
  let released = false
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
    release: () => {
      if (!released) pool.release(arena)
      released = true
    },
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

/** As the reference orders them: the body's own, then list by list, each name once. */
function unknownFields(plan: NativePlan, found: NativeFindings): string[] {
  const names = found.unknownNames.flatMap((group, object) =>
    group.map((name) => (object === 0 ? name : `${plan.lists[object - 1] as string}[].${name}`)),
  )
  return [...new Set(names)].slice(0, unknownNameCountMax)
}
