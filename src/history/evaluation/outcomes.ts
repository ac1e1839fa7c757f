/**
 * Figures of the placements: medians of the counters by age and by who picked, how often a placed post was hidden or
 * deleted, and how the score at placement correlates with the later counters.
 */
import {
  parseInstant,
  type outcomeCounters,
  type AgeFigures,
  type Outcome,
  type OutcomeFigures,
  type OutcomeReading,
  type PickerFigures,
} from '../../contract/index.js'
import type { OutcomeEntry } from '../../store/index.js'
import { quantile, spearman } from './ranking.js'

export const outcomeAges = [1, 6, 24, 48] as const

/** Figures of the placements with from ≤ placed_at ≤ to, milliseconds since 1970. */
export function outcomeFigures(
  entries: Iterable<OutcomeEntry>,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): OutcomeFigures {
  const outcomes: Outcome[] = []
  for (const { record } of entries) {
    const outcome = JSON.parse(Buffer.from(record).toString()) as Outcome
    const placedMs = parseInstant(outcome.placed_at)?.ms ?? NaN
    if (placedMs >= fromMs && placedMs <= toMs) outcomes.push(outcome)
  }
  const byPicker = Map.groupBy(outcomes, ({ picked_by: { type, model_version = null } }) =>
    JSON.stringify([type, type === 'model' ? model_version : null]),
  )
  const withScore = outcomes.filter(({ score_at_placement }) => typeof score_at_placement === 'number')
  const scores = Float64Array.from(withScore, ({ score_at_placement }) => score_at_placement as number)
  return {
    placements: outcomes.length,
    by_picker: [...byPicker]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([key, group]) => pickerFigures(key, group)),
    score_correlation: outcomeAges.map((age) =>
      ageFigures(withScore, age, (values) => spearman(scores, values)),
    ),
  }
}

function pickerFigures(key: string, outcomes: readonly Outcome[]): PickerFigures {
  const [picked_by, model_version] = JSON.parse(key) as [PickerFigures['picked_by'], string | null]
  const share = (isCounted: (outcome: Outcome) => boolean): number =>
    outcomes.filter(isCounted).length / outcomes.length
  return {
    picked_by,
    model_version,
    placements: outcomes.length,
    hidden_share: share(({ hidden_at }) => (hidden_at ?? null) !== null),
    deleted_share: share(({ deleted_at }) => (deleted_at ?? null) !== null),
    ages: outcomeAges.map((age) =>
      ageFigures(outcomes, age, (values) =>
        quantile(
          values.filter((value) => !Number.isNaN(value)),
          0.5,
        ),
      ),
    ),
  }
}

/** `figureOf`: of one counter's values by placement, NaN for none. */
function ageFigures(
  outcomes: readonly Outcome[],
  age: number,
  figureOf: (values: Float64Array) => number | null,
): AgeFigures {
  const readings = outcomes.map(({ readings = [] }) => readings.findLast(({ age_h }) => age_h === age))
  const figure = (counter: (typeof outcomeCounters)[number]): number | null =>
    figureOf(Float64Array.from(readings, (reading: OutcomeReading | undefined) => reading?.[counter] ?? NaN))
  return {
    age_h: age,
    n: readings.filter((reading) => reading !== undefined).length,
    views: figure('views'),
    up: figure('up'),
    down: figure('down'),
    comment_cnt: figure('comment_cnt'),
  }
}
