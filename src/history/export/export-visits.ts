/**
 * Stages the visits of an export, with the candidates as received.
 */
import type { Candidate } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { Position, Store } from '../../store/index.js'
import type { StoredVisit } from '../stored-visits.js'
import type { Staging } from './staging.js'

/** `texts`: whether the bodies of the posts are exported. */
export async function exportVisits(
  store: Store,
  staging: Staging,
  visits: readonly StoredVisit[],
  texts: boolean,
): Promise<void> {
  for (const [position, some] of Map.groupBy(visits, ({ entered }) => entered?.position)) {
    const candidates = await candidatesOf(store, position, some)
    for (const [index, { gallId, postNo, left }] of some.entries()) {
      const { image_positions, body_html, ...candidate }: Partial<Candidate> = candidates[index] ?? {}
      staging.add('visits', {
        ...candidate,
        images_expected: image_positions?.length,
        body_html: texts ? body_html : null,
        post: staging.postNumber(gallId, postNo),
        entered: position ?? -1,
        position: left?.cycle.position ?? -1,
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
  position: Position | undefined,
  visits: readonly StoredVisit[],
): Promise<Candidate[]> {
  if (position === undefined) return []
  const records = await readCandidates(
    store,
    position,
    visits.flatMap(({ entered }) => entered?.row ?? []),
  )
  return records.map((record) => JSON.parse(Buffer.from(record).toString()) as Candidate)
}
