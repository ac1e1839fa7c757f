/**
 * The weights of a score: what setting them does, which setting is in force at a time, and the score itself
 * (docs/contract.md, PUT /v1/weights). Pure; the time is an argument.
 */
import { assert, nextBoundary, type HeadColumns, type HeadName, type Weights } from '../contract/index.js'

/** Weights as requested. */
export interface WeightsToSet {
  readonly version: string
  readonly weights: Weights
  readonly note: string
}

/** Weights as they were set. */
export interface WeightsSetting extends WeightsToSet {
  readonly setAtMs: number
  /** First `cycle_time` that they apply to. */
  readonly firstCycleMs: number
}

/** A version used before with other weights. */
export interface WeightsConflict {
  readonly kind: 'conflict'
  /** The weights already set. */
  readonly used: Weights
}

/** appended: `setting` is new and becomes current. unchanged: it is already current. */
export interface WeightsAccepted {
  readonly kind: 'appended' | 'unchanged'
  readonly setting: WeightsSetting
}

/**
 * The setting that applies to a cycle, or at a time, of settings in the order in which they were made. The first one also
 * applies to every earlier cycle. Undefined without settings.
 */
export function weightsInForce(
  settings: readonly WeightsSetting[],
  cycleMs: number,
): WeightsSetting | undefined {
  return settings.findLast((setting) => setting.firstCycleMs <= cycleMs) ?? settings[0]
}

/**
 * What setting weights after `settings` would do. `newestCycleMs` is the newest stored cycle's time, -Infinity without one.
 */
export function planWeights(
  settings: readonly WeightsSetting[],
  request: WeightsToSet,
  nowMs: number,
  newestCycleMs: number,
): WeightsAccepted | WeightsConflict {
  const { version, note } = request
  const weights = onlyWeights(request.weights)
  const current = settings.at(-1)
  const used = settings.findLast((setting) => setting.version === version)
  if (used !== undefined && !sameWeights(used.weights, weights))
    return { kind: 'conflict', used: used.weights }
  if (current?.version === version) return { kind: 'unchanged', setting: current }
  const firstCycleMs = nextBoundary(Math.max(nowMs, newestCycleMs))
  assert(firstCycleMs > newestCycleMs, 'weights apply to no cycle that is stored')
  return { kind: 'appended', setting: { version, weights, note, setAtMs: nowMs, firstCycleMs } }
}

/** One score a row: the weighted sum of the heads, as float32. A head that the model lacks counts as 0. */
export function scoreRows(heads: HeadColumns, weights: Weights, count: number): Float32Array {
  const sum = new Float64Array(count)
  for (const [head, weight] of headWeights(weights)) {
    const values = heads[head]
    if (values === null || weight === 0) continue
    assert(values.length === count, 'a head has a value for each row')
    for (let row = 0; row < count; row++) sum[row] = sum[row]! + weight * values[row]!
  }
  return Float32Array.from(sum)
}

/** Heads that have a weight other than 0 and that the model lacks: they contribute nothing to the score. */
export function missingHeads(heads: Readonly<Record<HeadName, unknown>>, weights: Weights): HeadName[] {
  return headWeights(weights)
    .filter(([head, weight]) => weight !== 0 && heads[head] === null)
    .map(([head]) => head)
}

function headWeights(weights: Weights): readonly (readonly [head: HeadName, weight: number])[] {
  return [
    ['p_views', weights.views],
    ['p_comments', weights.comments],
    ['p_up', weights.up],
    ['downvote_share', -weights.downvote_share],
  ]
}

function onlyWeights({ views, comments, up, downvote_share }: Weights): Weights {
  return { views, comments, up, downvote_share }
}

function sameWeights(a: Weights, b: Weights): boolean {
  return (
    a.views === b.views && a.comments === b.comments && a.up === b.up && a.downvote_share === b.downvote_share
  )
}
