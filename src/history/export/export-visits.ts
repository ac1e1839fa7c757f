/**
 * Stages the visits of an export: what the record of the cycle has of the candidate, and the rest from the request.
 */
import type { Candidate } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import { readCycleTable } from '../../records/index.js'
import type { Position, Store } from '../../store/index.js'
import { recordAt } from '../recorded/records.js'
import type { StoredVisit } from '../recorded/stored-visits.js'
import type { StagedRow, Staging } from './staging.js'

const recordedNames = ['created_at', 'extracted_at', 'source', 'gallery_type'] as const

/** `texts`: whether the bodies of the posts are exported. */
export async function exportVisits(
  store: Store,
  staging: Staging,
  visits: readonly StoredVisit[],
  texts: boolean,
): Promise<void> {
  for (const [position, some] of Map.groupBy(visits, ({ entered }) => entered?.position)) {
    const candidates = position === undefined ? [] : await candidatesOf(store, position, some, texts)
    for (const [index, { gallId, postNo, departure }] of some.entries())
      staging.add('visits', {
        ...candidates[index],
        post: staging.postNumber(gallId, postNo),
        entered: position ?? -1,
        position: departure?.cycle.position ?? -1,
        fate: departure?.reason,
        tier: departure?.tier,
        decided_at: departure?.decidedMs,
      })
    if (staging.isFull) await staging.flush()
  }
}

/** The candidates of visits that began with one cycle. */
async function candidatesOf(
  store: Store,
  position: Position,
  visits: readonly StoredVisit[],
  texts: boolean,
): Promise<StagedRow[]> {
  const rows = visits.flatMap(({ entered }) => entered?.row ?? [])
  const recorded = readCycleTable(recordAt(store, position), 'candidates')
  const received = await readCandidates(store, position, rows)
  return rows.map((row, index) => {
    // A late cycle can make a row that did not enter the first of a visit: the record lacks its title.
    const { title, manual_flag, category_id, images_in_post, image_positions, body_html } = JSON.parse(
      Buffer.from(received[index]!).toString(),
    ) as Candidate
    return {
      ...Object.fromEntries(recordedNames.map((name) => [name, recorded[name][row]])),
      title,
      manual_flag,
      category_id,
      images_in_post,
      images_expected: image_positions?.length,
      body_html: texts ? body_html : null,
    }
  })
}
