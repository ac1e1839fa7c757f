/**
 * Stages the visits of an export, with the candidates as received.
 */
import type { Codec } from '../../codec/index.js'
import type { Candidate } from '../../contract/index.js'
import { readBody, readCandidates } from '../../cycle/index.js'
import type { Position, Store } from '../../store/index.js'
import type { ArrivalVisit } from '../arrival-visits.js'
import type { Staging } from './staging.js'

/** `texts`: whether the bodies of the posts are exported. */
export async function exportVisits(
  store: Store,
  staging: Staging,
  visits: readonly ArrivalVisit[],
  { codec, texts }: { readonly codec: Codec; readonly texts: boolean },
): Promise<void> {
  for (const [position, some] of Map.groupBy(visits, ({ entered }) => entered?.position ?? null)) {
    const candidates = await candidatesOf(store, codec, position, some)
    for (const [index, { gallId, postNo, left }] of some.entries()) {
      const { image_positions, body_html, ...candidate }: Partial<Candidate> = candidates[index] ?? {}
      staging.add('visits', {
        ...candidate,
        images_expected: image_positions?.length,
        body_html: texts ? body_html : null,
        post: staging.postNumber(gallId, postNo),
        entered: position ?? -1,
        position: left?.position ?? -1,
        fate: left?.reason,
        tier: left?.tier,
        decided_at: left?.decidedMs,
      })
    }
    if (staging.isFull) await staging.flush()
  }
}

/** The candidates, as received, of visits that began with one cycle; none if its request has expired. */
async function candidatesOf(
  store: Store,
  codec: Codec,
  position: Position | null,
  visits: readonly ArrivalVisit[],
): Promise<Candidate[]> {
  // An entry of an expired cycle is kept only while one of its posts is pending.
  if (position === null || store.readRequest(position) === undefined) return []
  const rows = visits.flatMap(({ entered }) => entered?.row ?? [])
  const records = rows.length === 0 ? [] : await readCandidates(store, position, rows)
  const candidates: Candidate[] = []
  for (const visit of visits) {
    const record =
      visit.entered?.row === null ? await recordIn(store, codec, position, visit) : records.shift()
    candidates.push(JSON.parse(Buffer.from(record ?? []).toString()) as Candidate)
  }
  return candidates
}

/** The candidate of a post that left with the call that brought it. */
async function recordIn(
  store: Store,
  codec: Codec,
  position: Position,
  { gallId, postNo }: ArrivalVisit,
): Promise<Uint8Array> {
  const json = await readBody(store, position)
  const { candidates, galleries } = codec.decodeCycle(json)
  const row = candidates.postNo.findIndex(
    (each, at) => each === postNo && galleries[candidates.gallery[at] as number] === gallId,
  )
  return json.subarray(candidates.rowStart[row], candidates.rowEnd[row])
}
