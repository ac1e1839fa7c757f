/**
 * Stages the visits of an export, with the candidates as received.
 */
import type { Candidate } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { Position, Store } from '../../store/index.js'
import type { ArrivalVisit } from '../arrival-visits.js'
import type { Staging } from './staging.js'

/** `texts`: whether the bodies of the posts are exported. */
export async function exportVisits(
  store: Store,
  staging: Staging,
  visits: readonly ArrivalVisit[],
  texts: boolean,
): Promise<void> {
  for (const [position, some] of Map.groupBy(visits, ({ entered }) => entered?.position ?? null)) {
    const candidates = await candidatesOf(store, position, some)
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
  position: Position | null,
  visits: readonly ArrivalVisit[],
): Promise<Candidate[]> {
  // An entry of an expired cycle is kept only while one of its posts is pending.
  if (position === null || store.readRequest(position) === undefined) return []
  const records = await readCandidates(
    store,
    position,
    visits.flatMap(({ entered }) => entered?.row ?? []),
  )
  return records.map((record) => JSON.parse(Buffer.from(record).toString()) as Candidate)
}
