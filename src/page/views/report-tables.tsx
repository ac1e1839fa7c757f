/**
 * The tables of rankers, of their differences, of their metrics, and of the placed posts.
 */
import type { AgeFigures, Difference, OutcomeFigures, Ranker } from '../../contract/index.js'
import { decimal, humanize, integer, minutes, percent } from '../format.js'
import { Badge, Panel, Text, type Tone } from '../parts/common.js'
import { IntervalFigure, scaleOf, Table, type Column } from '../parts/table.js'

const baselines: Readonly<Record<string, string>> = {
  views: 'by views',
  up: 'by recommendations',
  comment_cnt: 'by comments',
  rtb_vote: 'by Send-to-Best votes',
  newest: 'newest first',
  up_per_view: 'by recommendations per view',
}

function rankerName(name: string): string {
  return baselines[name] ?? name.replace(/^shadow:/, '')
}

type Estimated = Pick<Ranker['rank_percentile'], 'mean' | 'ci95'>

const rankerFigures: readonly (readonly [title: string, of: (ranker: Ranker) => Estimated])[] = [
  ['Ranked below a saved post', ({ rank_percentile }) => rank_percentile],
  ['Saved posts found', ({ same_budget: { recall, ci95 } }) => ({ mean: recall, ci95: ci95.recall })],
  [
    'Decided picks saved',
    ({ same_budget: { precision, ci95 } }) => ({ mean: precision, ci95: ci95.precision }),
  ],
  ['Hidden or deleted', ({ same_budget: { harm, ci95 } }) => ({ mean: harm, ci95: ci95.harm })],
]

/** The figures of a report for each order or version. */
export function RankerTable({
  rankers,
  caption,
}: {
  readonly rankers: readonly Ranker[]
  readonly caption: string
}) {
  const columns: Column<Ranker>[] = rankerFigures.map(([title, of]) => {
    const scale = scaleOf(rankers.map(of))
    return { title, kind: 'interval', cell: (ranker) => <IntervalFigure {...of(ranker)} scale={scale} /> }
  })
  return (
    <Table
      caption={caption}
      rows={rankers}
      rowKey={({ name }) => name}
      rowClass={({ name }) => (name in baselines ? 'baseline' : '')}
      columns={[
        { title: 'Order', cell: ({ name }) => <Text>{rankerName(name)}</Text> },
        ...columns,
        {
          title: 'Earlier',
          kind: 'number',
          cell: ({ same_budget }) => minutes(same_budget.lead_minutes.p50),
        },
      ]}
    />
  )
}

const verdictTones: Readonly<Record<string, Tone>> = { better: 'ok', worse: 'fail' }

/** Each pair with its difference and what follows from it. */
export function DifferenceTable({ differences }: { readonly differences: readonly Difference[] }) {
  const scale = scaleOf(differences, 0)
  return (
    <Table
      caption="Difference of the share ranked below a saved post, over the posts that both ranked, in percentage points. The dashed line is no difference."
      rows={differences}
      rowKey={({ a, b }) => `${a} ${b}`}
      columns={[
        {
          title: 'Pair',
          cell: ({ a, b }) => (
            <>
              <Text>{rankerName(a)}</Text> <span class="muted">against</span> <Text>{rankerName(b)}</Text>
            </>
          ),
        },
        {
          title: 'Difference',
          kind: 'interval',
          cell: (difference) => <IntervalFigure {...difference} scale={scale} unit="points" />,
        },
        {
          title: 'Verdict',
          cell: ({ verdict }) => (
            <Badge tone={verdictTones[verdict ?? ''] ?? 'plain'}>{verdict ?? 'nothing in common'}</Badge>
          ),
        },
        { title: 'Posts', kind: 'number', cell: ({ n }) => integer(n) },
        {
          title: 'More days needed',
          kind: 'number',
          cell: ({ verdict, more_days }) => integer(verdict === null ? null : more_days),
        },
      ]}
    />
  )
}

export function Metrics({ rankers }: { readonly rankers: readonly Ranker[] }) {
  const [first] = rankers
  if (first === undefined) return null
  const number = (title: string, cell: (ranker: Ranker) => string): Column<Ranker> => {
    return { title, kind: 'number', cell }
  }
  const tops = Object.keys(first.saved_in_top).map(Number)
  const gains = Object.keys(first.ndcg).map(Number)
  return (
    <Panel title="Ranking metrics">
      <Table
        caption="Saved posts in the first k of the pool; NDCG; ROC AUC and average precision by visit"
        rows={rankers}
        rowKey={({ name }) => name}
        columns={[
          { title: 'Order', cell: ({ name }) => <Text>{rankerName(name)}</Text> },
          number('Cycles', ({ cycles }) => integer(cycles)),
          ...tops.map((depth) =>
            number(`Top ${depth}`, ({ saved_in_top }) => percent(saved_in_top[depth], 0)),
          ),
          ...gains.map((depth) => number(`NDCG ${depth}`, ({ ndcg }) => decimal(ndcg[depth]))),
          number('AUC first', ({ auc_first }) => decimal(auc_first)),
          number('AUC last', ({ auc_last }) => decimal(auc_last)),
          number('AP last', ({ average_precision_last }) => decimal(average_precision_last)),
          number('Earlier p10', ({ same_budget }) => minutes(same_budget.lead_minutes.p10)),
          number('p90', ({ same_budget }) => minutes(same_budget.lead_minutes.p90)),
        ]}
      />
    </Panel>
  )
}

const counters = ['views', 'up', 'down', 'comment_cnt'] as const

function counterColumns<Row extends AgeFigures>(text: (value: number | null) => string): Column<Row>[] {
  return counters.map((name) => ({
    title: humanize(name),
    kind: 'number',
    cell: (row) => text(row[name]),
  }))
}

export function Placements({ outcomes }: { readonly outcomes: OutcomeFigures }) {
  const { placements, by_picker, score_correlation } = outcomes
  if (placements === 0) return null
  const medians = by_picker.flatMap((picker) => picker.ages.map((figures) => ({ ...picker, ...figures })))
  return (
    <Panel title="Placements">
      <Table
        caption={`${integer(placements)} placements: medians of the counters by age`}
        rows={medians}
        rowKey={({ picked_by, model_version, age_h }) => `${picked_by} ${model_version ?? ''} ${age_h}`}
        columns={[
          {
            title: 'Picked by',
            cell: ({ picked_by, model_version }) => <Text>{`${picked_by} ${model_version ?? ''}`}</Text>,
          },
          { title: 'Placements', kind: 'number', cell: (picker) => integer(picker.placements) },
          { title: 'Hidden', kind: 'number', cell: ({ hidden_share }) => percent(hidden_share) },
          { title: 'Deleted', kind: 'number', cell: ({ deleted_share }) => percent(deleted_share) },
          { title: 'Age', kind: 'number', cell: ({ age_h }) => `${age_h} h` },
          { title: 'Readings', kind: 'number', cell: ({ n }) => integer(n) },
          ...counterColumns<(typeof medians)[number]>(integer),
        ]}
      />
      <Table
        caption="Spearman correlation of the score at placement with the later counters"
        rows={score_correlation.filter(({ n }) => n > 0)}
        rowKey={({ age_h }) => String(age_h)}
        columns={[
          { title: 'Age', cell: ({ age_h }) => `${age_h} h` },
          { title: 'Placements', kind: 'number', cell: ({ n }) => integer(n) },
          ...counterColumns<AgeFigures>((value) => decimal(value, 2)),
        ]}
      />
    </Panel>
  )
}
