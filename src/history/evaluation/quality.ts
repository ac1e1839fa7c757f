/**
 * The quality of two versions over the same cycles, for `models compare`: how each ranks the posts that the operators saved,
 * and whether the difference is significant.
 */
import type { Position, Store } from '../../store/index.js'
import { evaluate, type EvaluationOptions } from './evaluate.js'
import { differenceJson, rankerJson } from './report-json.js'

export interface Quality {
  /** As the rankers of a report. */
  readonly first: object
  readonly second: object
  readonly difference: ReturnType<typeof differenceJson>
}

/** `scores`: of cycles that a version neither served nor scored as a shadow, by version and store position. */
export async function versionQuality(
  store: Store,
  versions: readonly [first: string, second: string],
  scores: ReadonlyMap<string, ReadonlyMap<Position, Float32Array>>,
  window: Pick<EvaluationOptions, 'fromMs' | 'toMs'>,
): Promise<Quality | null> {
  const options = { ...window, versions, replay: () => Promise.resolve(scores) }
  const { rankers, differences } = await evaluate(store, options)
  const [, first, second] = rankers
  const pair = differences.at(-1)
  if (first === undefined || second === undefined || pair === undefined) return null
  return {
    first: rankerJson(first),
    second: rankerJson(second),
    difference: { ...differenceJson(pair), a: versions[0], b: versions[1] },
  }
}
