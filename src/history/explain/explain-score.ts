/**
 * Why a post has its score: each input with its place in the pool and the change of the score when it has the pool's
 * median or is missing; and for two cycles of one post, the change when the input of one cycle replaces that of the other.
 */
import {
  assert,
  effectOf,
  type ChangedInput,
  type ExplainedChange,
  type ExplainedInput,
  type Weights,
} from '../../contract/index.js'
import { named, type Feature } from '../../model/index.js'
import {
  median,
  percentileOf,
  presentValues,
  scoreInputs,
  type CycleInputs,
  type InputRow,
  type Scorer,
  type ScorerInputs,
} from './scored-inputs.js'

export interface ExplainedScore {
  /** Computed now from the recorded inputs. */
  readonly score: number
  /** Largest change first. */
  readonly inputs: readonly ExplainedInput[]
}

/** The inputs of a post without a model: no change is known. */
export function describeInputs(features: readonly Feature[], inputs: CycleInputs): ExplainedInput[] {
  return inputParts({ features, model: { text: null, image: null }, galleries: [] }, inputs).map(
    ({ part }) => ({
      ...part,
      over_median: null,
      over_missing: null,
    }),
  )
}

export async function explainScore(
  scorer: Scorer,
  weights: Weights,
  inputs: CycleInputs,
): Promise<ExplainedScore> {
  const parts = inputParts(scorer, inputs)
  const rows = parts.flatMap(({ atMedian, atMissing }) => [atMedian, atMissing])
  const { score, changes } = await scoreChanges(scorer, weights, inputs.postRow, rows)
  const explained = parts.map(({ part }, index) => ({
    ...part,
    over_median: addedBy(changes[2 * index]),
    over_missing: addedBy(changes[2 * index + 1]),
  }))
  return { score, inputs: explained.sort((a, b) => Math.abs(effectOf(b) ?? 0) - Math.abs(effectOf(a) ?? 0)) }
}

/** The score of a row, and the changes of it when other rows replace the row; null for none. */
async function scoreChanges(
  scorer: Scorer,
  weights: Weights,
  row: InputRow,
  others: readonly (InputRow | null)[],
): Promise<{ readonly score: number; readonly changes: readonly (number | null)[] }> {
  const rows = [row, ...others.filter((other) => other !== null)]
  const [score = NaN, ...scores] = await scoreInputs(scorer, weights, rows)
  assert(scores.length === rows.length - 1, 'each row has a score')
  const changes = others.map((other) => (other === null ? null : scores.shift()! - score))
  return { score, changes }
}

/** What a value adds is the opposite of what its replacement changes. */
function addedBy(change: number | null | undefined): number | null {
  return change === null || change === undefined ? null : 0 - change
}

/** An input, and the row of the post with another value of it. */
interface Part {
  readonly part: Omit<ExplainedInput, 'over_median' | 'over_missing'>
  readonly atMedian: InputRow | null
  readonly atMissing: InputRow | null
}

function inputParts({ features, model, galleries }: ScorerInputs, inputs: CycleInputs): Part[] {
  const { postRow } = inputs
  const parts = features.map(({ name, missing, shown }, column): Part => {
    const present = presentValues(inputs, column)
    const middle = median(present)
    const value = postRow.features[column]!
    const isMissing = Number.isNaN(value)
    return {
      part: {
        kind: 'feature',
        name,
        shown,
        missing: isMissing,
        value: isMissing ? null : value,
        percentile: isMissing ? null : percentileOf(present, value),
        median: Number.isNaN(middle) ? null : middle,
      },
      atMedian: Number.isNaN(middle) ? null : withFeature(postRow, column, middle),
      atMissing: isMissing || missing === null ? null : withFeature(postRow, column, NaN),
    }
  })
  const unranked = { value: null, percentile: null, median: null }
  for (const [kind, middle] of [
    ['text', inputs.medianText],
    ['image', inputs.medianImage],
  ] as const) {
    if (model[kind] === null) continue
    parts.push({
      part: { kind, name: kind, shown: named(kind, 'plain'), missing: postRow[kind] === null, ...unranked },
      atMedian: middle === null ? null : { ...postRow, [kind]: middle },
      atMissing: postRow[kind] === null ? null : { ...postRow, [kind]: null },
    })
  }
  if (galleries.length > 0) {
    // It is unknown to the model.
    const isMissing = postRow.galleryIndex === 0
    parts.push({
      part: {
        kind: 'gallery',
        name: 'gallery_index',
        shown: named('gallery_index', 'plain'),
        missing: isMissing,
        ...unranked,
        value: isMissing ? null : postRow.galleryIndex,
      },
      atMedian: null,
      atMissing: isMissing ? null : { ...postRow, galleryIndex: 0 },
    })
  }
  return parts
}

function withFeature(row: InputRow, column: number, value: number): InputRow {
  const features = row.features.slice()
  features[column] = value
  return { ...row, features }
}

/** One side of a comparison: what scored the post in a cycle. */
export interface ScoredSide {
  readonly scorer: Scorer
  readonly weights: Weights
}

/**
 * `before`, `after`: inputs of the model of the earlier side in the two cycles. `afterOwn`: inputs of the model of the later
 * side in the later cycle.
 */
export async function explainChange(
  earlier: ScoredSide,
  later: ScoredSide,
  {
    before,
    after,
    afterOwn,
  }: { readonly before: InputRow; readonly after: InputRow; readonly afterOwn: InputRow },
): Promise<ExplainedChange> {
  const changed = changedParts(earlier.scorer, before, after)
  const rows = [after, ...changed.map(({ row }) => row)]
  const { score, changes } = await scoreChanges(earlier.scorer, earlier.weights, before, rows)
  const [byInputs = NaN, ...byInput] = changes as number[]
  const [weighted = NaN] = await scoreInputs(earlier.scorer, later.weights, [after])
  const [toScore = NaN] = await scoreInputs(later.scorer, later.weights, [afterOwn])
  const inputs = changed.map(({ part }, index) => ({ ...part, change: byInput[index]! }))
  return {
    from_score: score,
    to_score: toScore,
    by_inputs: byInputs,
    by_weights: weighted - (score + byInputs),
    by_model: toScore - weighted,
    inputs: inputs.sort((a, b) => Math.abs(b.change) - Math.abs(a.change)),
  }
}

function changedParts(
  { features }: Scorer,
  before: InputRow,
  after: InputRow,
): { readonly part: Omit<ChangedInput, 'change'>; readonly row: InputRow }[] {
  const parts: { part: Omit<ChangedInput, 'change'>; row: InputRow }[] = []
  for (const [column, { name }] of features.entries()) {
    const [from, to] = [before.features[column]!, after.features[column]!]
    if (Object.is(from, to)) continue
    const row = withFeature(before, column, to)
    parts.push({ part: { kind: 'feature', name, from: orNull(from), to: orNull(to) }, row })
  }
  for (const kind of ['text', 'image'] as const) {
    const [from, to] = [before[kind], after[kind]]
    if (from?.toString() === to?.toString()) continue
    parts.push({ part: { kind, name: kind, from: null, to: null }, row: { ...before, [kind]: to } })
  }
  return parts
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}
