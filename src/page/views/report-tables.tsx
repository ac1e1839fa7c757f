/**
 * The tables of rankers, of their differences, of their metrics, and of the placed posts.
 */
import type { AgeFigures, Difference, OutcomeFigures, Ranker, Report } from '../../contract/index.js'
import { decimal, integer, minutes, percent } from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, Panel, Text, type Tone } from '../parts/common.js'
import {
  IntervalFigure,
  scaleOf,
  shareAxis,
  shareScale,
  Table,
  type Column,
  type Scale,
} from '../parts/table.js'

type Baseline = keyof typeof t.report.baselines

function isBaseline(name: string): name is Baseline {
  return Object.hasOwn(t.report.baselines, name)
}

/** What readers call the rankers of a report: the model with its version, if only one has served. */
export function rankerNames(rankers: readonly Pick<Ranker, 'name' | 'versions'>[]): (name: string) => string {
  const served = rankers.find(({ name }) => name === 'model')?.versions ?? []
  const versions = [...new Set(served.map((pair) => pair.split(' / ')[0] ?? pair))]
  return (name) => {
    if (name === 'model') return t.report.modelOf(versions.join(', '))
    return isBaseline(name) ? t.report.baselines[name] : name.replace(/^shadow:/, '')
  }
}

type Estimated = Pick<Ranker['rank_percentile'], 'mean' | 'ci95'>

const rankerFigures = (): readonly (readonly [title: string, of: (ranker: Ranker) => Estimated])[] => [
  [t.report.rankedBelow, ({ rank_percentile }) => rank_percentile],
  [t.report.postsFound, ({ same_budget: { recall, ci95 } }) => ({ mean: recall, ci95: ci95.recall })],
  [
    t.report.picksSaved,
    ({ same_budget: { precision, ci95 } }) => ({ mean: precision, ci95: ci95.precision }),
  ],
  [t.report.hiddenOrDeleted, ({ same_budget: { harm, ci95 } }) => ({ mean: harm, ci95: ci95.harm })],
]

/** The figures of a report for each order or version. */
export function RankerTable({
  rankers,
  caption,
}: {
  readonly rankers: readonly Ranker[]
  readonly caption: string
}) {
  const nameOf = rankerNames(rankers)
  const columns: Column<Ranker>[] = rankerFigures().map(([title, of]) => ({
    title,
    kind: 'interval',
    axis: shareAxis,
    cell: (ranker) => <IntervalFigure {...of(ranker)} scale={shareScale} />,
  }))
  return (
    <Table
      caption={caption}
      rows={rankers}
      rowKey={({ name }) => name}
      rowClass={({ name }) => (isBaseline(name) ? 'baseline' : '')}
      columns={[
        { title: t.report.order, cell: ({ name }) => <Text>{nameOf(name)}</Text> },
        ...columns,
        {
          title: t.report.earlier,
          kind: 'number',
          cell: ({ same_budget }) => minutes(same_budget.lead_minutes.p50),
        },
      ]}
    />
  )
}

const verdictTones: Readonly<Record<string, Tone>> = { better: 'ok', worse: 'fail' }

interface DifferenceProps {
  /** All of one ranker against others. */
  readonly differences: readonly Difference[]
  readonly nameOf: (name: string) => string
  readonly caption: string
  /** That of all tables next to each other. */
  readonly scale?: Scale
}

/** One ranker against others: each difference, and what follows from it. */
export function DifferenceTable({
  differences,
  nameOf,
  caption,
  scale = scaleOf(differences, 0),
}: DifferenceProps) {
  return (
    <Table
      caption={caption}
      rows={differences}
      rowKey={({ a, b }) => `${a} ${b}`}
      columns={[
        { title: t.report.against, cell: ({ b }) => <Text>{nameOf(b)}</Text> },
        {
          title: t.report.difference,
          kind: 'interval',
          axis: [[0, '0']],
          axisScale: scale,
          cell: (difference) => <IntervalFigure {...difference} scale={scale} unit="points" />,
        },
        {
          title: t.report.verdict,
          cell: ({ verdict }) => (
            <Badge tone={verdictTones[verdict ?? ''] ?? 'plain'}>
              {verdict === null ? t.report.nothingInCommon : word(verdict)}
            </Badge>
          ),
        },
        { title: t.report.posts, kind: 'number', isWideOnly: true, cell: ({ n }) => integer(n) },
        {
          title: t.report.moreDays,
          kind: 'number',
          isWideOnly: true,
          cell: ({ verdict, more_days }) => integer(verdict === null ? null : more_days),
        },
      ]}
    />
  )
}

/** The model against each order, then every other version, on one axis. */
export function DifferenceTables({ report: { differences, rankers } }: { readonly report: Report }) {
  const nameOf = rankerNames(rankers)
  const scale = scaleOf(differences, 0)
  return (
    <>
      <p class="muted">{t.report.comparisonText}</p>
      {[...Map.groupBy(differences, ({ a }) => a)].map(([a, of]) => (
        <DifferenceTable
          key={a}
          differences={of}
          nameOf={nameOf}
          caption={t.report.comparisonCaption(nameOf(a))}
          scale={scale}
        />
      ))}
    </>
  )
}

export function Metrics({ rankers }: { readonly rankers: readonly Ranker[] }) {
  const [first] = rankers
  if (first === undefined) return null
  const number = (title: string, cell: (ranker: Ranker) => string): Column<Ranker> => {
    return { title, kind: 'number', cell }
  }
  const nameOf = rankerNames(rankers)
  const tops = Object.keys(first.saved_in_top).map(Number)
  const gains = Object.keys(first.ndcg).map(Number)
  return (
    <Panel title={t.report.metrics}>
      <Table
        caption={t.report.metricsCaption}
        rows={rankers}
        rowKey={({ name }) => name}
        columns={[
          { title: t.report.order, cell: ({ name }) => <Text>{nameOf(name)}</Text> },
          number(t.report.cycles, ({ cycles }) => integer(cycles)),
          ...tops.map((depth) =>
            number(t.report.top(depth), ({ saved_in_top }) => percent(saved_in_top[depth], 0)),
          ),
          ...gains.map((depth) => number(t.report.ndcg(depth), ({ ndcg }) => decimal(ndcg[depth]))),
          number(t.report.aucFirst, ({ auc_first }) => decimal(auc_first)),
          number(t.report.aucLast, ({ auc_last }) => decimal(auc_last)),
          number(t.report.apLast, ({ average_precision_last }) => decimal(average_precision_last)),
          number(t.report.earlierP10, ({ same_budget }) => minutes(same_budget.lead_minutes.p10)),
          number(t.report.earlierP90, ({ same_budget }) => minutes(same_budget.lead_minutes.p90)),
        ]}
      />
    </Panel>
  )
}

const counters = ['views', 'up', 'down', 'comment_cnt'] as const

function counterColumns<Row extends AgeFigures>(text: (value: number | null) => string): Column<Row>[] {
  return counters.map((name) => ({
    title: word(name),
    kind: 'number',
    cell: (row) => text(row[name]),
  }))
}

export function Placements({ outcomes }: { readonly outcomes: OutcomeFigures }) {
  const { placements, by_picker, score_correlation } = outcomes
  if (placements === 0) return null
  const medians = by_picker.flatMap((picker) => picker.ages.map((figures) => ({ ...picker, ...figures })))
  return (
    <Panel title={t.report.placements}>
      <Table
        caption={t.report.placementsCaption(integer(placements))}
        rows={medians}
        rowKey={({ picked_by, model_version, age_h }) => `${picked_by} ${model_version ?? ''} ${age_h}`}
        columns={[
          {
            title: t.report.pickedBy,
            cell: ({ picked_by, model_version }) => (
              <Text>{`${word(picked_by)} ${model_version ?? ''}`}</Text>
            ),
          },
          { title: t.report.placements, kind: 'number', cell: (picker) => integer(picker.placements) },
          { title: t.report.hidden, kind: 'number', cell: ({ hidden_share }) => percent(hidden_share) },
          { title: t.report.deleted, kind: 'number', cell: ({ deleted_share }) => percent(deleted_share) },
          { title: t.report.age, kind: 'number', cell: ({ age_h }) => t.units.hour(integer(age_h)) },
          { title: t.report.readings, kind: 'number', cell: ({ n }) => integer(n) },
          ...counterColumns<(typeof medians)[number]>(integer),
        ]}
      />
      <Table
        caption={t.report.correlationCaption}
        rows={score_correlation.filter(({ n }) => n > 0)}
        rowKey={({ age_h }) => String(age_h)}
        columns={[
          { title: t.report.age, cell: ({ age_h }) => t.units.hour(integer(age_h)) },
          { title: t.report.placements, kind: 'number', cell: ({ n }) => integer(n) },
          ...counterColumns<AgeFigures>((value) => decimal(value, 2)),
        ]}
      />
    </Panel>
  )
}
