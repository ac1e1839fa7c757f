/**
 * Stages the outcome records of an export, and their readings.
 */
import type { Outcome } from '../../contract/index.js'
import type { Store } from '../../store/index.js'
import { instantOf, type Staging } from './staging.js'

/** Exports the outcomes with `fromMs` ≤ `placed_at` ≤ `toMs`. */
export function exportOutcomes(
  store: Store,
  staging: Staging,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): void {
  for (const { record, arrivedAtMs } of store.outcomes()) {
    // It may have members that the wire type lacks, such as `deleted_by`.
    const outcome = JSON.parse(Buffer.from(record).toString()) as Outcome
    const { placement_id, gall_id, post_no, placed_at, picked_by, readings = [] } = outcome
    const placedAt = instantOf(placed_at)
    if (!(fromMs <= placedAt && placedAt <= toMs)) continue
    const keys = {
      placement_id,
      placed_at,
      post: staging.postNumber(gall_id, post_no),
      known_at: arrivedAtMs,
    }
    staging.add('outcomes', {
      ...outcome,
      ...keys,
      picked_by: picked_by.type,
      picked_model_version: picked_by.model_version,
      picked_weights_version: picked_by.weights_version,
      picked_cycle_id: picked_by.cycle_id,
    })
    for (const reading of readings) staging.add('outcome_readings', { ...reading, ...keys })
  }
}
