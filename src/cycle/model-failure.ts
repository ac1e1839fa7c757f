/**
 * What a model did not do for a cycle, said so that its makers find the post: a row of a batch means nothing to them.
 */
import { ModelError, ModelRowError } from '../model/index.js'
import { shortPostName, type CyclePlan } from '../pool/index.js'

/** The cycle that was scored, and the version that did. */
export interface ScoringAttempt {
  readonly version: string
  readonly cycleId: string
  readonly plan: CyclePlan
}

/** A `ModelError` with version, cycle and, where a row is at fault, its post; any other error as it is. */
export function placedFailure(error: unknown, { version, cycleId, plan }: ScoringAttempt): unknown {
  if (!(error instanceof ModelError)) return error
  const post = error instanceof ModelRowError ? `, post ${postOfRow(plan, error.row)}` : ''
  return new ModelError(`${version}, cycle ${cycleId}${post}: ${error.message}`, { cause: error })
}

function postOfRow({ scoring, next }: CyclePlan, row: number): string {
  const slot = scoring.slots[row] as number
  const gallId = next.galleries[next.gallery[slot] as number] as string
  // It may be printed on a terminal.
  return shortPostName(gallId.replace(/\p{Cc}/gu, '?'), next.postNo[slot] as number)
}
