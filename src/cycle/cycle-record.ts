/**
 * The record of a cycle from its request and its plan: see src/records for its tables. All but the heads is packed while the
 * model computes.
 */
import {
  absentCode,
  assert,
  type CycleColumns,
  type GalleryIds,
  type HeadColumns,
  type KeyColumns,
  type Warning,
} from '../contract/index.js'
import { gallIdAt, PostMap, type CyclePlan, type WeightsSetting } from '../pool/index.js'
import { packCycleRecord, type CycleRows, type CycleTables } from '../records/index.js'
import type { Availability } from './availability.js'

export interface TableInputs {
  readonly cycle: CycleColumns
  readonly plan: CyclePlan
}

export interface RecordedInputs extends TableInputs {
  readonly weights: WeightsSetting
  /** What the model had of the scored posts. */
  readonly available: Availability
  readonly warnings: readonly Warning[]
}

/** The function that it returns makes the record of the cycle from the heads of the scored posts. */
export function cycleRecordOf(inputs: RecordedInputs): (heads: HeadColumns) => Uint8Array {
  const { plan, weights, available, warnings } = inputs
  const { textEncoder, imageEncoder, images } = available
  const { counters, candidates, removals, results } = plannedTables(inputs)
  const finish = packCycleRecord(
    {
      weights: weights.weights,
      text_encoder: textEncoder,
      image_encoder: imageEncoder,
      entered: plan.changes.enteredRows.length,
      left_at: plan.leftAtMs,
      warnings,
    },
    {
      candidates,
      removals,
      results,
      scored: { ...counters, text_encoded: available.textEncoded },
      images,
    },
  )
  return (heads) => {
    for (const values of Object.values(heads) as (Float32Array | null)[])
      assert(values === null || values.length === plan.scoring.count, 'each scored row has its heads')
    return finish({ count: plan.scoring.count, ...heads })
  }
}

/** What follows from request and plan alone. */
export interface PlannedTables extends Pick<CycleTables, 'candidates' | 'removals' | 'results'> {
  readonly counters: Omit<CycleRows<'scored'>, 'text_encoded'>
}

export function plannedTables({ cycle, plan }: TableInputs): PlannedTables {
  return {
    candidates: candidatesOf(cycle, plan),
    removals: removalsOf(cycle, plan),
    results: resultsOf(plan),
    counters: countersOf(plan),
  }
}

function candidatesOf(
  { candidates, galleries }: CycleColumns,
  { changes }: CyclePlan,
): CycleRows<'candidates'> {
  const rows = candidateRows(candidates, changes.enteredRows)
  const entered = changes.enteredRows.length
  const { createdAtMs, createdAtFraction, extractedAtMs, extractedAtFraction } = candidates
  const titles: (string | null)[] = []
  for (let index = 0; index < rows.length; index++)
    titles.push(index < entered ? candidates.titles[rows[index]!]! : null)
  return {
    ...keysOf(galleries, candidates, rows),
    title: titles,
    row_start: numbersOf(rows, (row) => candidates.rowStart[row]!),
    row_end: numbersOf(rows, (row) => candidates.rowEnd[row]!),
    created_at: numbersOf(rows, (row) => createdAtMs[row]! + createdAtFraction[row]!),
    extracted_at: numbersOf(rows, (row) => extractedAtMs[row]! + extractedAtFraction[row]!),
    source: numbersOf(rows, (row) => candidates.source[row]!),
    gallery_type: numbersOf(rows, (row) => candidates.galleryType[row] ?? absentCode),
  }
}

/**
 * The rows that entered, then the first row of each other post: sent again while pending, or removed by the same call. A
 * late cycle can make such a row the first of a visit.
 */
function candidateRows({ gallery, postNo, count }: KeyColumns, enteredRows: Uint32Array): Uint32Array {
  if (enteredRows.length === count) return enteredRows
  const seen = new PostMap<number, true>()
  const rows: number[] = []
  const add = (row: number): void => {
    const [code, number] = [gallery[row]!, postNo[row]!]
    if (seen.get(code, number) === true) return
    seen.set(code, number, true)
    rows.push(row)
  }
  enteredRows.forEach(add)
  for (let row = 0; row < count; row++) add(row)
  return Uint32Array.from(rows)
}

function removalsOf(
  { removals, candidates, galleries }: CycleColumns,
  plan: CyclePlan,
): CycleRows<'removals'> {
  const { changes, base, position } = plan
  const enteredPosition = new Float64Array(removals.count).fill(NaN)
  const enteredRow = new Float64Array(removals.count).fill(NaN)
  let indexOf: PostMap<number, number> | null = null
  for (const row of changes.departedRows) {
    const [gallery, postNo] = [removals.gallery[row]!, removals.postNo[row]!]
    const slot = base.index.findPost(galleries[gallery]!, postNo)
    if (slot >= 0) {
      enteredPosition[row] = base.enteredPosition[slot]!
      enteredRow[row] = base.enteredRow[slot]!
    } else {
      // It came with the same call.
      indexOf ??= indexesOf(candidates, candidateRows(candidates, changes.enteredRows))
      enteredPosition[row] = position
      enteredRow[row] = indexOf.get(gallery, postNo) ?? NaN
    }
  }
  return {
    ...keysOf(galleries, removals, Uint32Array.from(removals.postNo.keys())),
    reason: Float64Array.from(removals.reason),
    tier: Float64Array.from(removals.tier),
    decided_at: removals.decidedAtMs,
    entered_position: enteredPosition,
    entered_row: enteredRow,
  }
}

/** The index in `rows` of each post. */
function indexesOf({ gallery, postNo }: KeyColumns, rows: Uint32Array): PostMap<number, number> {
  const indexes = new PostMap<number, number>()
  rows.forEach((row, index) => indexes.set(gallery[row]!, postNo[row]!, index))
  return indexes
}

function keysOf(
  galleries: GalleryIds,
  { gallery, postNo }: KeyColumns,
  rows: Uint32Array,
): Pick<CycleRows<'removals'>, 'count' | 'gall_id' | 'post_no'> {
  const gallIds: string[] = []
  for (const row of rows) gallIds.push(gallIdAt({ galleries, gallery }, row))
  return { count: rows.length, gall_id: gallIds, post_no: numbersOf(rows, (row) => postNo[row]!) }
}

/** `Float64Array.from` makes an object for each row. */
function numbersOf(rows: Uint32Array, valueOf: (row: number) => number): Float64Array {
  const column = new Float64Array(rows.length)
  for (let i = 0; i < rows.length; i++) column[i] = valueOf(rows[i]!)
  return column
}

function resultsOf({ next, outcomes }: CyclePlan): CycleRows<'results'> {
  return {
    count: next.count,
    entered_position: next.enteredPosition.subarray(0, next.count),
    entered_row: next.enteredRow.subarray(0, next.count),
    outcome: new Float64Array(outcomes),
  }
}

/** The counters of the readings that are scored. */
function countersOf({ scoring }: CyclePlan): PlannedTables['counters'] {
  // A loop of its own: with a call for each row it takes several times as long.
  const counter = (values: Float64Array): Float64Array => {
    const column = new Float64Array(scoring.count)
    for (let i = 0; i < column.length; i++) column[i] = values[scoring.readings[i]!]!
    return column
  }
  const { views, up, comment_cnt, rtb_vote } = scoring.engagement
  return {
    count: scoring.count,
    views: counter(views),
    up: counter(up),
    comment_cnt: counter(comment_cnt),
    rtb_vote: counter(rtb_vote),
  }
}
