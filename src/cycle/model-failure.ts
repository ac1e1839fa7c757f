/**
 * Describes a model failure by cycle and post: the row of a batch means nothing to the authors of a model.
 */
import { ModelError, ModelRowError } from '../model/index.js'
import { shortPostName, type PoolState } from '../pool/index.js'

/** What was scored, such as `cycle 20260302T1205`, and the version that scored it. */
export interface ScoringAttempt {
  readonly version: string
  readonly what: string
  readonly plan: {
    readonly scoring: { readonly slots: Uint32Array }
    readonly next: Pick<PoolState, 'galleries' | 'gallery' | 'postNo'>
  }
}

/** Adds version, cycle and, for an error of one row, the post to a `ModelError`. */
export function placedFailure(error: ModelError, { version, what, plan }: ScoringAttempt): ModelError {
  const post = error instanceof ModelRowError ? `, post ${postOfRow(plan, error.row)}` : ''
  return new ModelError(`${version}, ${what}${post}: ${error.message}`, { cause: error })
}

function postOfRow({ scoring, next }: ScoringAttempt['plan'], row: number): string {
  const slot = scoring.slots[row]!
  const gallId = next.galleries[next.gallery[slot]!]!
  // A terminal may print the id, so control characters are removed.
  return shortPostName(gallId.replace(/\p{Cc}/gu, '?'), next.postNo[slot]!)
}
