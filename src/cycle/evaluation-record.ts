/**
 * The evaluation record of a cycle: what a report needs to know of it after request and response have expired. Posts are
 * named by candidates and removals only; a result names its post by where it entered, which compresses to almost nothing.
 *
 *   u32 layout · u32 length of the tables · the tables, compressed with zstd · scores as float32
 *   tables   four packed tables (codec/pack.ts), each after its u32 length: distinct candidates, those that entered first;
 *            removals of the request, with the entry of each post that was pending; one row per pending post in the order
 *            of the results (how many cycles ago it entered, rows skipped since the row before, outcome); counters of the
 *            scored rows
 */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompressSync, type ZstdOptions } from 'node:zlib'
import { packTable, unpackTable, type PackedTable } from '../codec/index.js'
import { absentCode, assert, type CycleColumns } from '../contract/index.js'
import { PostMap, type CyclePlan } from '../pool/index.js'
import { StoreError } from '../store/index.js'

/** Keys as columns: `gallery` indexes `galleries`. Every column has one value per row. */
interface EventKeys {
  readonly galleries: readonly string[]
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

const compressZstd = promisify(zstdCompress) as (
  bytes: Uint8Array,
  options: ZstdOptions,
) => Promise<Uint8Array>
/** Small tables take half the time of zstd's defaults to set up, and one output buffer avoids a second round. */
const params: ZstdOptions['params'] = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 16,
  [constants.ZSTD_c_hashLog]: 12,
}
const outputBytesMin = 1024

const layout = 1
const headBytes = 8
const numberBytes = 4

/**
 * Packs what is known before the scores, and compresses it in the thread pool. The function that it resolves with adds the
 * scores: these hardly compress.
 */
export async function packEvaluation(
  cycle: CycleColumns,
  plan: CyclePlan,
): Promise<(scores: Float32Array) => Uint8Array> {
  const tables = joinTables([...packEvents(eventsOf(cycle, plan)), ...packRows(rowsOf(plan), plan.position)])
  const packed = await compressZstd(tables, { params, chunkSize: tables.length + outputBytesMin })
  return (scores) => {
    assert(scores.length === plan.scoring.count, 'each scored row has a score')
    const head = Buffer.alloc(headBytes)
    head.writeUInt32LE(layout)
    head.writeUInt32LE(packed.length, numberBytes)
    return Buffer.concat([head, packed, new Uint8Array(scores.buffer, scores.byteOffset, scores.byteLength)])
  }
}

/** Candidates and removals of a record. Throws a `StoreError` for a record of another layout. */
export function readEvaluationEvents(record: Uint8Array): EvaluationEvents {
  const [candidates, removals] = tablesOf(record)
  const [gallery, postNo, createdMs, extractedMs, source, galleryType] = columnsOf(candidates, 6)
  const [removedGallery, removedNo, reason, tier, decidedMs, position, row] = columnsOf(removals, 7)
  const header = candidates.header as { readonly galleries: readonly string[]; readonly entered: number }
  return {
    candidates: {
      enteredCount: header.entered,
      galleries: header.galleries,
      ...{ gallery, postNo, createdMs, extractedMs, source, galleryType },
    },
    removals: {
      galleries: (removals.header as { readonly galleries: readonly string[] }).galleries,
      ...{ gallery: removedGallery, postNo: removedNo, reason, tier, decidedMs },
      ...{ enteredPosition: position, enteredRow: row },
    },
  }
}

/** Results of a record that was stored at `position`. */
export function readEvaluationRows(record: Uint8Array, position: number): EvaluationRows {
  const [, , rows, scored] = tablesOf(record)
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
  return new Float32Array(Uint8Array.from(record.subarray(tablesEnd(record))).buffer)
}

/** What the record of a cycle holds besides its scores. */
export function eventsOf(cycle: CycleColumns, plan: CyclePlan): EvaluationEvents {
  return { candidates: candidatesOf(cycle, plan), removals: removalsOf(cycle, plan) }
}

function candidatesOf({ candidates, galleries }: CycleColumns, { entries }: CyclePlan) {
  const seen = new PostMap<number, true>()
  const rows = [...entries.enteredRows]
  const isNew = (row: number): boolean => {
    const [gallery, postNo] = [candidates.gallery[row] as number, candidates.postNo[row] as number]
    if (seen.get(gallery, postNo) === true) return false
    seen.set(gallery, postNo, true)
    return true
  }
  for (const row of rows) isNew(row)
  // Sent again while pending, or removed by the same call: a late cycle can make such a row the first of a visit.
  for (let row = 0; row < candidates.count; row++) if (isNew(row)) rows.push(row)
  const column = (value: (row: number) => number): Float64Array => Float64Array.from(rows, value)
  const instant = (ms: Float64Array, fraction: Float64Array): Float64Array =>
    column((row) => (ms[row] as number) + (fraction[row] as number))
  return {
    enteredCount: entries.enteredRows.length,
    ...keysOf(galleries, rows, candidates),
    createdMs: instant(candidates.createdAtMs, candidates.createdAtFraction),
    extractedMs: instant(candidates.extractedAtMs, candidates.extractedAtFraction),
    source: column((row) => candidates.source[row] as number),
    galleryType: column((row) => candidates.galleryType[row] ?? absentCode),
  }
}

function removalsOf({ removals, galleries }: CycleColumns, { entries, base }: CyclePlan) {
  const rows = [...Array(removals.count).keys()]
  const enteredPosition = new Float64Array(rows.length).fill(NaN)
  const enteredRow = new Float64Array(rows.length).fill(NaN)
  const codes = galleries.map((id) => base.galleries.indexOf(id))
  for (const row of entries.leftRows) {
    const code = codes[removals.gallery[row] as number] as number
    const slot = code < 0 ? -1 : base.index.find(code, removals.postNo[row] as number)
    if (slot < 0) continue
    enteredPosition[row] = base.enteredPosition[slot] as number
    enteredRow[row] = base.enteredRow[slot] as number
  }
  return {
    ...keysOf(galleries, rows, removals),
    reason: Float64Array.from(removals.reason),
    tier: Float64Array.from(removals.tier),
    decidedMs: Float64Array.from(removals.decidedAtMs),
    ...{ enteredPosition, enteredRow },
  }
}

/** Keys of some rows, with the galleries of these rows only. */
function keysOf(
  galleries: readonly string[],
  rows: readonly number[],
  keys: { readonly gallery: Uint32Array; readonly postNo: Float64Array },
): EventKeys {
  const used = [...new Set(rows.map((row) => keys.gallery[row] as number))]
  const codes = new Map(used.map((code, index) => [code, index]))
  return {
    galleries: used.map((code) => galleries[code] as string),
    gallery: Float64Array.from(rows, (row) => codes.get(keys.gallery[row] as number) as number),
    postNo: Float64Array.from(rows, (row) => keys.postNo[row] as number),
  }
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
    outcome: Float64Array.from(outcomes),
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

// ---- tables

function joinTables(tables: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(tables.flatMap((table) => [lengthOf(table), table]))
}

function lengthOf(table: Uint8Array): Uint8Array {
  const length = Buffer.alloc(numberBytes)
  length.writeUInt32LE(table.length)
  return length
}

/** Where the scores begin. */
function tablesEnd(record: Uint8Array): number {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength)
  const found = view.getUint32(0, true)
  if (found !== layout)
    throw new StoreError('unusable', `the evaluation record has layout ${found}, not ${layout}`)
  return headBytes + view.getUint32(numberBytes, true)
}

type Tables = [candidates: PackedTable, removals: PackedTable, rows: PackedTable, scored: PackedTable]

function tablesOf(record: Uint8Array): Tables {
  const bytes = zstdDecompressSync(record.subarray(headBytes, tablesEnd(record)))
  const tables: PackedTable[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + numberBytes + bytes.readUInt32LE(at)
    tables.push(unpackTable(bytes.subarray(at + numberBytes, end)))
    at = end
  }
  if (tables.length !== 4)
    throw new StoreError('unusable', `the evaluation record has ${tables.length} tables, not 4`)
  return tables as Tables
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
