/**
 * A comparison of two models as a person reads it.
 */
import { overlapDepths, quantileShares, scoreSources } from '../../history/index.js'
import { formatTable } from '../text-table.js'
import type { AgreementFigures, Comparison, LeftOutFigures, MoverFigures, ScoreFigures } from './figures.js'

const moversShown = 10
const titleColumn = 4

/** `columns`: width of the terminal; titles give way to it. */
export function comparisonText(comparison: Comparison, columns: number | undefined): string {
  const { first, second, pooled, movers } = comparison
  const blocks = [
    headline(comparison) + distinctLine(comparison) + lackingLines(comparison),
    ...(pooled === null
      ? []
      : [
          agreementTable(pooled, comparison.median),
          scoresTable([
            [first, pooled.first],
            [second, pooled.second],
          ]),
        ]),
    sourcesTable(comparison) + leftOutLines(comparison),
    ...(movers.length === 0 ? [] : [moversTable(comparison, columns)]),
  ]
  return blocks.join('\n')
}

function headline({ first, second, cycles, scores, posts }: Comparison): string {
  const { count, from, to, without_scored_posts: empty } = cycles
  const span = count === 1 ? `cycle ${from}` : `${count} cycles from ${from} to ${to}`
  const aside = empty === 0 ? '' : `, ${empty} of them without a scored post`
  return `${first} (A) and ${second} (B) in ${span}${aside}: ${scores} scores each, of ${posts} posts.\n`
}

/** Of a model that tells few posts apart, ranks say little. */
function distinctLine({ pooled }: Comparison): string {
  if (pooled === null) return ''
  return `Distinct scores: ${pooled.first.distinct_scores} of A, ${pooled.second.distinct_scores} of B.\n`
}

function lackingLines({ first, second, lacking_heads }: Comparison): string {
  const line = (version: string, heads: readonly string[]): string => {
    if (heads.length === 0) return ''
    const weights = heads.length === 1 ? 'weight counts' : 'weights count'
    return `${version} has no ${heads.join(', ')}, whose ${weights} for nothing in its scores.\n`
  }
  return line(first, lacking_heads.first) + line(second, lacking_heads.second)
}

function agreementTable(pooled: AgreementFigures, median: AgreementFigures | null): string {
  const row = (label: string, figure: (figures: AgreementFigures) => string): string[] => [
    label,
    figure(pooled),
    median === null ? '' : figure(median),
  ]
  return formatTable(
    ['agreement', 'all scores', 'median of cycles'],
    [
      row('rank correlation', ({ rank_correlation }) => number(rank_correlation, 3)),
      ...overlapDepths.map((depth) =>
        row(`shared among the best ${depth}`, ({ overlap }) => percent(overlap[depth] ?? null)),
      ),
      row('mean difference, B − A', (figures) => number(figures.mean_signed_difference, 4)),
      row('mean absolute difference', (figures) => number(figures.mean_absolute_difference, 4)),
    ],
  )
}

function scoresTable(rows: readonly (readonly [version: string, figures: ScoreFigures])[]): string {
  const names = quantileShares.map((share) =>
    share === 0 ? 'least' : share === 1 ? 'most' : share === 0.5 ? 'median' : `${share * 100} %`,
  )
  return formatTable(
    ['scores', 'mean', ...names],
    rows.map(([version, { mean, quantiles }]) => [
      version,
      number(mean, 4),
      ...quantileShares.map((share) => number(quantiles[share] ?? null, 4)),
    ]),
  )
}

function sourcesTable({ first, second, sources }: Comparison): string {
  const row = (version: string, counts: Comparison['sources']['first']): string[] => [
    version,
    ...scoreSources.map((source) => String(counts[source])),
  ]
  return formatTable(
    ['cycles scored by', 'the response', 'the shadow', 'a replay'],
    [row(first, sources.first), row(second, sources.second)],
  )
}

function leftOutLines({ first, second, left_out }: Comparison): string {
  const line = (version: string, { texts, images }: LeftOutFigures): string => {
    const parts = [counted(texts, 'text'), counted(images, 'image')].filter((part) => part !== '')
    if (parts.length === 0) return ''
    return `${version} was replayed without ${parts.join(' and ')}, which its encoders do not survive.\n`
  }
  const lines = line(first, left_out.first) + line(second, left_out.second)
  return lines === '' ? '' : `\n${lines}`
}

function counted(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`
}

function moversTable({ movers }: Comparison, columns: number | undefined): string {
  const shown = movers.slice(0, moversShown)
  const row = (mover: MoverFigures): string[] => [
    `${mover.gall_id}/${mover.post_no}`,
    mover.cycle_id,
    `${mover.first_rank} → ${mover.second_rank} of ${mover.posts}`,
    `${number(mover.first_score, 3)} → ${number(mover.second_score, 3)}`,
    mover.title ?? '',
  ]
  return formatTable(['largest movers', 'cycle', 'rank, A → B', 'score, A → B', 'title'], shown.map(row), {
    cellsMax: columns,
    column: titleColumn,
    how: 'clip',
  })
}

function number(value: number | null, digits: number): string {
  return value === null ? '–' : value.toFixed(digits)
}

function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(100 * share)} %`
}
