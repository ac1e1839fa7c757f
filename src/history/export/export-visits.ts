/**
 * Stages the visits of an export, with the candidates as received.
 */
import type { Codec } from '../../codec/index.js'
import { absentCode, galleryTypeCodes, sourceCodes, type Candidate } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { Position, Store } from '../../store/index.js'
import type { ArrivalVisit } from '../arrival-visits.js'
import { readBody } from '../records.js'
import type { PostNumbers } from './post-numbers.js'
import type { Staging } from './staging.js'
import { groupBy, instantOf } from './values.js'

export interface ExportVisitsOptions {
  readonly codec: Codec
  readonly staging: Staging
  /** Whether the bodies of the posts are exported. */
  readonly texts: boolean
}

/** Visits that are staged at a time: their candidates are in memory. */
const visitsPerStep = 2000

export async function exportVisits(
  store: Store,
  visits: readonly ArrivalVisit[],
  options: ExportVisitsOptions,
  posts: PostNumbers,
): Promise<void> {
  const { staging, texts } = options
  for (let from = 0; from < visits.length; from += visitsPerStep) {
    const some = visits.slice(from, from + visitsPerStep)
    const candidates = await candidatesOf(store, options.codec, some)
    const numbers = (of: (candidate: Candidate) => number | null | undefined): Float64Array =>
      Float64Array.from(candidates, (candidate) => (candidate && of(candidate)) ?? NaN)
    const ends = (of: (left: NonNullable<ArrivalVisit['left']>) => number): Float64Array =>
      Float64Array.from(some, ({ left }) => (left === null ? NaN : of(left)))
    staging.append('visits', some.length, {
      position: Int32Array.from(some, ({ left }) => left?.position ?? -1),
      post: Int32Array.from(some, ({ gallId, postNo }) => posts.number(gallId, postNo)),
      entered: Int32Array.from(some, ({ entered }) => entered?.position ?? -1),
      title: candidates.map((candidate) => candidate?.title ?? null),
      body_html: candidates.map((candidate) => (texts ? (candidate?.body_html ?? null) : null)),
      created_at: numbers(({ created_at }) => instantOf(created_at)),
      extracted_at: numbers(({ extracted_at }) => instantOf(extracted_at)),
      source: numbers(({ source }) => sourceCodes.indexOf(source)),
      manual_flag: numbers(({ manual_flag }) => manual_flag),
      gallery_type: numbers(({ gallery_type: type }) =>
        type === undefined ? absentCode : galleryTypeCodes.indexOf(type),
      ),
      category_id: numbers(({ category_id }) => category_id),
      images_in_post: numbers(({ images_in_post }) => images_in_post),
      images_expected: numbers(({ image_positions }) => image_positions?.length),
      fate: ends(({ reason }) => reason),
      tier: ends(({ tier }) => tier),
      decided_at: ends(({ decidedMs }) => decidedMs),
    })
    if (staging.isFull) await staging.flush()
  }
}

/** The candidates as received; null where their request has expired. */
async function candidatesOf(
  store: Store,
  codec: Codec,
  visits: readonly ArrivalVisit[],
): Promise<(Candidate | null)[]> {
  const found = visits.map((): Candidate | null => null)
  const byCycle = groupBy(visits.keys(), (index) => visits[index]?.entered?.position ?? null)
  for (const [position, indexes] of byCycle) {
    // An entry of an expired cycle is kept only while one of its posts is pending.
    if (position === null || store.readRequest(position) === undefined) continue
    const entered = indexes.filter((index) => visits[index]?.entered?.row !== null)
    const rows = entered.map((index) => visits[index]?.entered?.row as number)
    const records = rows.length === 0 ? [] : await readCandidates(store, position, rows)
    entered.forEach((index, place) => (found[index] = parsed(records[place] as Uint8Array)))
    for (const index of indexes)
      if (visits[index]?.entered?.row === null)
        found[index] = await candidateIn(store, codec, position, visits[index])
  }
  return found
}

/** The candidate of a post that did not enter. */
async function candidateIn(
  store: Store,
  codec: Codec,
  position: Position,
  { gallId, postNo }: ArrivalVisit,
): Promise<Candidate | null> {
  const json = await readBody(store, position)
  const { candidates, galleries } = codec.decodeCycle(json)
  const row = candidates.postNo.findIndex(
    (each, at) => each === postNo && galleries[candidates.gallery[at] as number] === gallId,
  )
  return row < 0 ? null : parsed(json.subarray(candidates.rowStart[row], candidates.rowEnd[row]))
}

function parsed(record: Uint8Array): Candidate {
  return JSON.parse(Buffer.from(record).toString()) as Candidate
}
