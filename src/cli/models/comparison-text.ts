/**
 * A comparison of two models as text for a terminal.
 */
import {
  differenceTable,
  rankerTable,
  reportWords,
  type AgreementFigures,
  type Comparison,
  type DataTable,
  type MoverFigures,
} from '../../contract/index.js'
import { overlapDepths, quantileShares, scoreSources } from '../../history/index.js'
import { tableText } from '../text/data-table.js'
import { counted, number, percent } from '../text/format.js'
import { formatTable } from '../text/text-table.js'

const moversShown = 10
const titleColumn = 4

/** `columns`: width of the terminal. */
export function comparisonText(comparison: Comparison, columns: number | undefined): string {
  const { pooled, median, movers, quality } = comparison
  const blocks = [
    summary(comparison),
    ...(median === null ? [] : [agreementTable(median)]),
    ...(pooled === null ? [] : [scoresTable(comparison, pooled, columns)]),
    sourcesTable(comparison, columns),
    ...(movers.length === 0 ? [] : [moversTable(movers.slice(0, moversShown), columns)]),
    ...qualityTables(quality).map((table) => `${table.caption}:\n${tableText(table, columns)}`),
  ]
  return blocks.join('\n')
}

/** Of the posts that were decided in the time of the cycles. */
function qualityTables({ first, second, difference }: Comparison['quality']): DataTable[] {
  return [
    rankerTable([first, second], reportWords.en.qualityCaption, 'en'),
    differenceTable([difference], [first, second], 'en'),
  ]
}

function summary(comparison: Comparison): string {
  const { first, second, cycles, scores, posts, pooled, lacking_heads, skipped } = comparison
  const { count, from, to, without_scored_posts: empty } = cycles
  const span = count === 1 ? `cycle ${from}` : `${count} cycles from ${from} to ${to}`
  const lines = [
    `${first} (A) and ${second} (B) in ${span}: ${scores} scores each, of ${posts} posts.`,
    ...(empty === 0 ? [] : [`Cycles without scored posts: ${empty}.`]),
    // Ranks say little about a model that gives many posts the same score.
    ...(pooled === null
      ? []
      : [`Distinct scores: ${pooled.first.distinct_scores} of A, ${pooled.second.distinct_scores} of B.`]),
  ]
  for (const side of ['first', 'second'] as const) {
    const heads = lacking_heads[side]
    const { texts, images } = skipped[side]
    const version = comparison[side]
    if (heads.length > 0) lines.push(`${version} lacks ${heads.join(', ')}: its scores omit their weights.`)
    if (texts + images > 0)
      lines.push(
        `${version} was replayed without ${counted(texts, 'text')} and ${counted(images, 'image')} that crash its encoders.`,
      )
  }
  return lines.map((line) => `${line}\n`).join('')
}

function agreementTable(median: AgreementFigures): string {
  return formatTable(
    ['agreement', 'median of cycles'],
    [
      ['rank correlation', number(median.rank_correlation, 3)],
      ...overlapDepths.map((depth) => [
        `overlap of the best ${depth}`,
        percent(median.overlap[depth] ?? null),
      ]),
      ['mean difference, B − A', number(median.mean_signed_difference, 4)],
      ['mean absolute difference', number(median.mean_absolute_difference, 4)],
    ],
  )
}

function scoresTable(
  versions: Comparison,
  pooled: NonNullable<Comparison['pooled']>,
  columns: number | undefined,
): string {
  const names = quantileShares.map((share) =>
    share === 0 ? 'minimum' : share === 1 ? 'maximum' : share === 0.5 ? 'median' : `${share * 100} %`,
  )
  const rows = (['first', 'second'] as const).map((side) => [
    versions[side],
    number(pooled[side].mean, 4),
    ...quantileShares.map((share) => number(pooled[side].quantiles[share] ?? null, 4)),
  ])
  return formatTable(['scores', 'mean', ...names], rows, { cellsMax: columns })
}

function sourcesTable(comparison: Comparison, columns: number | undefined): string {
  const rows = (['first', 'second'] as const).map((side) => [
    comparison[side],
    ...scoreSources.map((source) => String(comparison.sources[side][source])),
  ])
  return formatTable(['source of scores, in cycles', ...scoreSources], rows, { cellsMax: columns })
}

function moversTable(movers: readonly MoverFigures[], columns: number | undefined): string {
  const rows = movers.map((mover) => [
    `${mover.gall_id}/${mover.post_no}`,
    mover.cycle_id,
    `${mover.first_rank} → ${mover.second_rank} of ${mover.posts}`,
    `${number(mover.first_score, 3)} → ${number(mover.second_score, 3)}`,
    mover.title ?? '',
  ])
  return formatTable(['largest movers', 'cycle', 'rank, A → B', 'score, A → B', 'title'], rows, {
    cellsMax: columns,
    column: titleColumn,
  })
}
