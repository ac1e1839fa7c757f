/**
 * Reference decoder: a cycle body to columns by JSON.parse, typia and plain TypeScript. It defines what a body means;
 * the native decoder must give the same columns, and leaves every error to this one.
 */
import {
  absentCode,
  assert,
  checkCycle,
  counterNames,
  cycleShape,
  engagementStatusCodes,
  galleryTypeCodes,
  GalleryTable,
  parseInstant,
  removalReasonCodes,
  snapshotNames,
  sourceCodes,
  tierCodes,
  type Candidate,
  type CandidateColumns,
  type CandidateScoreColumns,
  type CandidateScoreRow,
  type CycleColumns,
  type CycleRequest,
  type EngagementColumns,
  type EngagementRow,
  type KeyColumns,
  type Instant,
  type Removal,
  type RemovalColumns,
} from '../contract/index.js'
import { asBuffer } from './body-buffer.js'
import { parseJson } from './json-text.js'
import { sliceRows, type RowSlices } from './row-slices.js'
import { allocateTextColumns, measureText } from './text-measures.js'
import { rowLists, unknownFields } from './unknown-fields.js'

/**
 * Columns of a cycle body. Throws `bad_request`: without fields when the body does not parse (UTF-8, JSON, its bounds),
 * with the failing paths when it is no `CycleRequest`.
 */
export function decodeCycle(body: Uint8Array): CycleColumns {
  const value = parseJson(body)
  const slices = sliceRows(asBuffer(body), 'candidates')
  const problems = checkCycle(value)
  if (problems !== null) throw problems.toError('invalid_cycle')
  return columnsOf(value as CycleRequest, slices)
}

function columnsOf(request: CycleRequest, slices: RowSlices): CycleColumns {
  assert(slices.rowStart.length === request.candidates.length, 'each candidate is a slice of the body')
  const memberOrder = Object.keys(request).filter((name) => knownMembers.has(name))
  const galleries = new GalleryTable()
  // Each gallery gets its code at its first appearance in the body.
  for (const list of memberOrder.filter(isRowList))
    for (const row of request[list]) galleries.code(row.gall_id)
  return {
    cycleId: request.cycle_id,
    cycleTime: request.cycle_time,
    cycleAt: instantOf(request.cycle_time),
    memberOrder,
    candidates: candidateColumns(request.candidates, galleries, slices),
    engagement: engagementColumns(request.engagement, galleries),
    candidateScores: candidateScoreColumns(request.candidate_scores, galleries),
    removals: removalColumns(request.removals, galleries),
    unknownFields: unknownFields([[request], ...rowLists.map((list) => request[list])]),
    galleries: galleries.ids,
  }
}

const knownMembers = new Set(cycleShape.members.map((member) => member.name))

function isRowList(name: string): name is (typeof rowLists)[number] {
  return (rowLists as readonly string[]).includes(name)
}

function keyColumns(
  rows: readonly { gall_id: string; post_no: number }[],
  galleries: GalleryTable,
): KeyColumns {
  return {
    count: rows.length,
    gallery: Uint32Array.from(rows, (row) => galleries.code(row.gall_id)),
    postNo: Float64Array.from(rows, (row) => row.post_no),
  }
}

function candidateColumns(
  rows: readonly Candidate[],
  galleries: GalleryTable,
  slices: RowSlices,
): CandidateColumns {
  const title = allocateTextColumns(rows.length)
  const body = allocateTextColumns(rows.length)
  rows.forEach((row, index) => {
    measureText(row.title, false, title, index)
    if (row.body_html !== undefined) measureText(row.body_html, true, body, index)
  })
  const created = rows.map((row) => nullableInstant(row.created_at))
  const extracted = rows.map((row) => nullableInstant(row.extracted_at))
  return {
    ...keyColumns(rows, galleries),
    ...slices,
    titles: rows.map((row) => row.title),
    createdAtMs: Float64Array.from(created, (at) => at.ms),
    createdAtFraction: Float64Array.from(created, (at) => at.fraction),
    extractedAtMs: Float64Array.from(extracted, (at) => at.ms),
    extractedAtFraction: Float64Array.from(extracted, (at) => at.fraction),
    source: Uint8Array.from(rows, (row) => sourceCodes.indexOf(row.source)),
    manualFlag: Uint8Array.from(rows, (row) => row.manual_flag),
    imagesInPost: Float64Array.from(rows, (row) => row.images_in_post),
    imagesExpected: Float64Array.from(rows, (row) => row.image_positions?.length ?? NaN),
    imagePositionsFingerprint: Uint32Array.from(rows, (row) =>
      positionsFingerprint(row.image_positions ?? []),
    ),
    galleryType: Uint8Array.from(rows, (row) => optionalCode(galleryTypeCodes, row.gallery_type)),
    categoryId: Float64Array.from(rows, (row) => row.category_id ?? NaN),
    bodyPresent: Uint8Array.from(rows, (row) => (row.body_html === undefined ? 0 : 1)),
    title,
    body,
  }
}

function engagementColumns(rows: readonly EngagementRow[], galleries: GalleryTable): EngagementColumns {
  const observed = rows.map((row) => instantOf(row.observed_at))
  return {
    ...keyColumns(rows, galleries),
    observedAtMs: Float64Array.from(observed, (at) => at.ms),
    observedAtFraction: Float64Array.from(observed, (at) => at.fraction),
    status: Uint8Array.from(rows, (row) => engagementStatusCodes.indexOf(row.status)),
    ...numberColumns(rows, counterNames),
  }
}

function candidateScoreColumns(
  rows: readonly CandidateScoreRow[],
  galleries: GalleryTable,
): CandidateScoreColumns {
  const taken = rows.map((row) => instantOf(row.snapshot_at))
  return {
    ...keyColumns(rows, galleries),
    snapshotAtMs: Float64Array.from(taken, (at) => at.ms),
    snapshotAtFraction: Float64Array.from(taken, (at) => at.fraction),
    ...numberColumns(rows, snapshotNames),
  }
}

function removalColumns(rows: readonly Removal[], galleries: GalleryTable): RemovalColumns {
  return {
    ...keyColumns(rows, galleries),
    reason: Uint8Array.from(rows, (row) => removalReasonCodes.indexOf(row.reason)),
    tier: Uint8Array.from(rows, (row) => optionalCode(tierCodes, row.tier)),
    decidedAtMs: Float64Array.from(rows, (row) => instantOf(row.decided_at).ms),
  }
}

function numberColumns<Name extends string>(
  rows: readonly { readonly [name in Name]?: number | null }[],
  names: readonly Name[],
): Record<Name, Float64Array> {
  return Object.fromEntries(
    names.map((name) => [name, Float64Array.from(rows, (row) => row[name] ?? NaN)]),
  ) as Record<Name, Float64Array>
}

function instantOf(text: string): Instant {
  const instant = parseInstant(text)
  assert(instant !== null, 'a date-time that was checked is one')
  return instant
}

const noInstant: Instant = { ms: NaN, fraction: 0 }

function nullableInstant(text: string | null): Instant {
  return text === null ? noInstant : instantOf(text)
}

function optionalCode(codes: readonly string[], value: string | undefined): number {
  return value === undefined ? absentCode : codes.indexOf(value)
}

function positionsFingerprint(positions: readonly number[]): number {
  let fingerprint = positions.length
  for (const position of positions) {
    fingerprint =
      (Math.imul(fingerprint, 0x01000193) + (position % 4294967296) + Math.floor(position / 4294967296)) >>> 0
  }
  return fingerprint
}
