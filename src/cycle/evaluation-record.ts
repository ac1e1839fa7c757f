/**
 * The evaluation record of a cycle: what a report needs after request and response have expired. Posts are
 * named by candidates and removals only; a result names its post by where it entered, which takes two bytes.
 *
 *   u32 layout · four packed tables (codec/pack.ts), each after its u32 length · scores as float32
 *
 * The tables: distinct candidates, those that entered first; removals of the request, with the entry of each post that was
 * pending; one row per pending post in the order of the results (how many cycles ago it entered, rows skipped since the row
 * before, outcome); counters of the scored rows. Nothing is compressed: that would save a third of 12 bytes per score, and
 * take longer than the rest of the packing.
 */
import { packTable, unpackTable, type PackedTable } from '../codec/index.js'
import { absentCode, assert, GalleryTable, type CycleColumns, type GalleryIds } from '../contract/index.js'
import { gallIdAt, PostMap, type CyclePlan } from '../pool/index.js'
import { StoreError } from '../store/index.js'

/** Keys as columns: `gallery` indexes `galleries`. Every column has one value per row. */
interface EventKeys {
  readonly galleries: GalleryIds
  readonly gallery: Float64Array
  readonly postNo: Float64Array
}

export interface EvaluationEvents {
  /** Rows up to `enteredCount` are the rows of the store's record of entered posts. */
  readonly candidates: EventKeys & {
    readonly enteredCount: number
    /** Milliseconds since 1970 with a fraction; NaN for null. */
    readonly createdMs: Float64Array
    readonly extractedMs: Float64Array
    /** Codes of columns.ts. */
    readonly source: Float64Array
    readonly galleryType: Float64Array
  }
  readonly removals: EventKeys & {
    readonly reason: Float64Array
    readonly tier: Float64Array
    readonly decidedMs: Float64Array
    /** Position and row of the entry of a post that was pending; NaN for others. */
    readonly enteredPosition: Float64Array
    readonly enteredRow: Float64Array
  }
}

export interface EvaluationRows {
  /** By result of a pending post: where it entered, and its code in `outcomeCodes`. */
  readonly enteredPosition: Float64Array
  readonly enteredRow: Float64Array
  readonly outcome: Float64Array
  /** By scored row: the counters of the reading that was scored. */
  readonly views: Float64Array
  readonly up: Float64Array
  readonly comment_cnt: Float64Array
  readonly rtb_vote: Float64Array
}

const layout = 1
const tableCount = 4
const numberBytes = 4

/** Packs what is known before the scores. The function that it returns makes the record of the cycle. */
export function packEvaluation(cycle: CycleColumns, plan: CyclePlan): (scores: Float32Array) => Uint8Array {
  const tables = [...packEvents(eventsOf(cycle, plan)), ...packRows(rowsOf(plan), plan.position)]
  const parts = tables.flatMap((table) => [numberBytesOf(table.length), table])
  return (scores) => {
    assert(scores.length === plan.scoring.count, 'each scored row has a score')
    const scoreBytes = new Uint8Array(scores.buffer, scores.byteOffset, scores.byteLength)
    return Buffer.concat([numberBytesOf(layout), ...parts, scoreBytes])
  }
}

function numberBytesOf(value: number): Uint8Array {
  const bytes = Buffer.alloc(numberBytes)
  bytes.writeUInt32LE(value)
  return bytes
}

/** Candidates and removals of a record. Throws a `StoreError` for a record of another layout. */
export function readEvaluationEvents(record: Uint8Array): EvaluationEvents {
  const { tables } = sectionsOf(record)
  const [candidates, removals] = [unpackTable(tables[0]), unpackTable(tables[1])]
  const [gallery, postNo, createdMs, extractedMs, source, galleryType] = columnsOf(candidates, 6)
  const [removedGallery, removedNo, reason, tier, decidedMs, position, row] = columnsOf(removals, 7)
  const header = candidates.header as { readonly galleries: GalleryIds; readonly entered: number }
  return {
    candidates: {
      enteredCount: header.entered,
      galleries: header.galleries,
      ...{ gallery, postNo, createdMs, extractedMs, source, galleryType },
    },
    removals: {
      galleries: (removals.header as { readonly galleries: GalleryIds }).galleries,
      ...{ gallery: removedGallery, postNo: removedNo, reason, tier, decidedMs },
      ...{ enteredPosition: position, enteredRow: row },
    },
  }
}

/** Results of a record that was stored at `position`. */
export function readEvaluationRows(record: Uint8Array, position: number): EvaluationRows {
  const { tables } = sectionsOf(record)
  const [rows, scored] = [unpackTable(tables[2]), unpackTable(tables[3])]
  const [age, skipped, outcome] = columnsOf(rows, 3)
  const [views, up, comments, votes] = columnsOf(scored, 4)
  const enteredRow = skipped
  for (let slot = 0; slot < age.length; slot++) {
    const enteredPosition = position - (age[slot] as number)
    const isSame = slot > 0 && enteredPosition === age[slot - 1]
    enteredRow[slot] = (enteredRow[slot] as number) + (isSame ? (enteredRow[slot - 1] as number) + 1 : 0)
    age[slot] = enteredPosition
  }
  return { enteredPosition: age, enteredRow, outcome, views, up, comment_cnt: comments, rtb_vote: votes }
}

export function readEvaluationScores(record: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(sectionsOf(record).scores).buffer)
}

/** What the record of a cycle holds besides its scores. */
export function eventsOf(cycle: CycleColumns, plan: CyclePlan): EvaluationEvents {
  return { candidates: candidatesOf(cycle, plan), removals: removalsOf(cycle, plan) }
}

function candidatesOf({ candidates, galleries }: CycleColumns, { entries }: CyclePlan) {
  const { enteredRows } = entries
  const rows = enteredRows.length === candidates.count ? enteredRows : distinctRows(candidates, enteredRows)
  const { createdAtMs, createdAtFraction, extractedAtMs, extractedAtFraction, source, galleryType } =
    candidates
  const columns = {
    createdMs: new Float64Array(rows.length),
    extractedMs: new Float64Array(rows.length),
    source: new Float64Array(rows.length),
    galleryType: new Float64Array(rows.length),
  }
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place] as number
    columns.createdMs[place] = (createdAtMs[row] as number) + (createdAtFraction[row] as number)
    columns.extractedMs[place] = (extractedAtMs[row] as number) + (extractedAtFraction[row] as number)
    columns.source[place] = source[row] as number
    columns.galleryType[place] = galleryType[row] ?? absentCode
  }
  return { enteredCount: enteredRows.length, ...keysOf(galleries, rows, candidates), ...columns }
}

/**
 * The rows that entered, then the first row of each other post: sent again while pending, or removed by the same call. A
 * late cycle can make such a row the first of a visit.
 */
function distinctRows(
  { gallery, postNo, count }: CycleColumns['candidates'],
  enteredRows: Uint32Array,
): Uint32Array {
  const seen = new PostMap<number, true>()
  const rows: number[] = []
  const add = (row: number): void => {
    const [code, number] = [gallery[row] as number, postNo[row] as number]
    if (seen.get(code, number) === true) return
    seen.set(code, number, true)
    rows.push(row)
  }
  enteredRows.forEach(add)
  for (let row = 0; row < count; row++) add(row)
  return Uint32Array.from(rows)
}

function removalsOf({ removals, galleries }: CycleColumns, { entries, base }: CyclePlan) {
  const enteredPosition = new Float64Array(removals.count).fill(NaN)
  const enteredRow = new Float64Array(removals.count).fill(NaN)
  for (const row of entries.leftRows) {
    const slot = base.index.findPost(
      gallIdAt({ galleries, ...removals }, row),
      removals.postNo[row] as number,
    )
    if (slot < 0) continue
    enteredPosition[row] = base.enteredPosition[slot] as number
    enteredRow[row] = base.enteredRow[slot] as number
  }
  return {
    ...keysOf(
      galleries,
      Uint32Array.from({ length: removals.count }, (_, row) => row),
      removals,
    ),
    reason: new Float64Array(removals.reason),
    tier: new Float64Array(removals.tier),
    decidedMs: new Float64Array(removals.decidedAtMs),
    ...{ enteredPosition, enteredRow },
  }
}

/** Keys of some rows, with the galleries of these rows only. */
function keysOf(
  galleries: GalleryIds,
  rows: Uint32Array,
  keys: { readonly gallery: Uint32Array; readonly postNo: Float64Array },
): EventKeys {
  const used = new GalleryTable()
  const gallery = new Float64Array(rows.length)
  const postNo = new Float64Array(rows.length)
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place] as number
    gallery[place] = used.code(galleries[keys.gallery[row] as number] as string)
    postNo[place] = keys.postNo[row] as number
  }
  return { galleries: used.ids, gallery, postNo }
}

export function rowsOf({ next, outcomes, scoring }: CyclePlan): EvaluationRows {
  const counter = (values: Float64Array): Float64Array => {
    const column = new Float64Array(scoring.count)
    for (let row = 0; row < column.length; row++)
      column[row] = values[scoring.readings[row] as number] as number
    return column
  }
  const { views, up, comment_cnt, rtb_vote } = scoring.engagement
  return {
    enteredPosition: next.enteredPosition.subarray(0, next.count),
    enteredRow: next.enteredRow.subarray(0, next.count),
    outcome: new Float64Array(outcomes),
    views: counter(views),
    up: counter(up),
    comment_cnt: counter(comment_cnt),
    rtb_vote: counter(rtb_vote),
  }
}

function packEvents({ candidates, removals }: EvaluationEvents): Uint8Array[] {
  const { galleries, gallery, postNo, createdMs, extractedMs, source, galleryType } = candidates
  const { reason, tier, decidedMs, enteredPosition, enteredRow } = removals
  const header = { galleries, entered: candidates.enteredCount }
  const columns = [gallery, postNo, createdMs, extractedMs, source, galleryType]
  const removed = [removals.gallery, removals.postNo, reason, tier, decidedMs, enteredPosition, enteredRow]
  return [
    packTable(header, postNo.length, columns),
    packTable({ galleries: removals.galleries }, reason.length, removed),
  ]
}

function packRows(rows: EvaluationRows, position: number): Uint8Array[] {
  const { enteredPosition, enteredRow, outcome, views, up, comment_cnt, rtb_vote } = rows
  const count = outcome.length
  const age = new Float64Array(count)
  const skipped = new Float64Array(count)
  for (let slot = 0; slot < count; slot++) {
    age[slot] = position - (enteredPosition[slot] as number)
    const isSame = slot > 0 && enteredPosition[slot] === enteredPosition[slot - 1]
    skipped[slot] = (enteredRow[slot] as number) - (isSame ? (enteredRow[slot - 1] as number) + 1 : 0)
  }
  return [
    packTable({}, count, [age, skipped, outcome]),
    packTable({}, views.length, [views, up, comment_cnt, rtb_vote]),
  ]
}

interface Sections {
  readonly tables: [candidates: Uint8Array, removals: Uint8Array, rows: Uint8Array, scored: Uint8Array]
  readonly scores: Uint8Array
}

function sectionsOf(record: Uint8Array): Sections {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength)
  const found = view.getUint32(0, true)
  if (found !== layout)
    throw new StoreError('unusable', `the evaluation record has layout ${found}, not ${layout}`)
  const tables: Uint8Array[] = []
  let at = numberBytes
  while (tables.length < tableCount) {
    const start = at + numberBytes
    at = start + view.getUint32(at, true)
    tables.push(record.subarray(start, at))
  }
  return { tables: tables as Sections['tables'], scores: record.subarray(at) }
}

function columnsOf<Count extends 3 | 4 | 6 | 7>({ columns }: PackedTable, count: Count): Tuple<Count> {
  if (columns.length !== count)
    throw new StoreError('unusable', `a table of the evaluation record has ${columns.length} columns`)
  return columns as unknown as Tuple<Count>
}

interface Tuples {
  3: [Float64Array, Float64Array, Float64Array]
  4: [...Tuples[3], Float64Array]
  6: [...Tuples[3], ...Tuples[3]]
  7: [...Tuples[6], Float64Array]
}
type Tuple<Count extends keyof Tuples> = Tuples[Count]
