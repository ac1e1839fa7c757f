/** Report: how the model ranks what the operators pick, compared with other versions and simple orders. */
import { useState } from 'preact/hooks'
import type { Difference, Group, Offender, Ranker, Report as ReportData } from '../service/history.js'
import { useQuery } from '../service/query.js'
import { plural, dayClock, integer, minutes, percent, humanize } from '../format.js'
import { Badge, Facts, Missing, Panel, Text, Tile, type Tone } from '../parts/common.js'
import { IntervalFigure, scaleOf, Table, type Column } from '../parts/table.js'
import { postAddress } from '../router.js'

export function Report() {
  const { data, error } = useQuery<ReportData>('/api/report', { refreshOn: ['cycle'] })
  return (
    <div class="view">
      <div class="list-head">
        <h1>Report</h1>
        {data !== null && <p class="muted list-note">{windowText(data)}</p>}
      </div>
      {data === null ? (
        <Missing error={error} what="report; the service reads its stored cycles" />
      ) : data.window.cycles === 0 ? (
        <p class="empty">No cycle is stored.</p>
      ) : (
        <>
          <Summary report={data} />
          <Rankers rankers={data.rankers} />
          <Differences differences={data.differences} />
          <Groups by={data.by} />
          <FirstScores report={data} />
        </>
      )}
    </div>
  )
}

function windowText({ window }: ReportData): string {
  const { cycles, days, from, to } = window
  return `${plural(cycles, 'cycle')} on ${plural(days, 'day')}, ${dayClock(from)} to ${dayClock(to)} KST`
}

function Summary({ report: { visits, rankers, window } }: { readonly report: ReportData }) {
  const budget = rankers[0]?.same_budget
  return (
    <div class="tiles">
      <Tile
        title="What the operators did"
        value={integer(visits.saved)}
        unit={`saved of ${integer(visits.total)}`}
        facts={[
          ['Hidden', integer(visits.hidden)],
          ['Deleted', integer(visits.deleted)],
          ['Aged out', integer(visits.aged_out)],
          ['Still pending', integer(visits.open)],
        ]}
      />
      {budget !== undefined && (
        <Tile
          title="The model with the same budget"
          value={percent(budget.recall, 0)}
          unit="of the saved posts found"
          facts={[
            ['Picks', integer(budget.picks)],
            ['Saved', integer(budget.saved)],
            ['Hidden or deleted', integer(budget.hidden + budget.deleted)],
            ['Aged out', integer(budget.aged_out)],
            ['Earlier (median)', minutes(budget.lead_minutes.p50)],
          ]}
        />
      )}
      <Tile
        title="In force"
        value={integer(window.versions.length)}
        unit={`${window.versions.length === 1 ? 'pair' : 'pairs'} of model / weights`}
      >
        <ul>
          {window.versions.map((version) => (
            <li key={version}>
              <Text>{version}</Text>
            </li>
          ))}
        </ul>
      </Tile>
    </div>
  )
}

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

function Rankers({ rankers }: { readonly rankers: readonly Ranker[] }) {
  return (
    <Panel title="Orders of the posts">
      <RankerTable
        rankers={rankers}
        caption="Means with 95 % intervals. The budget is what the operators picked in each cycle."
      />
    </Panel>
  )
}

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

function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  if (differences.length === 0) return null
  return (
    <Panel title="Comparison">
      <DifferenceTable differences={differences} />
    </Panel>
  )
}

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

function Groups({ by }: { readonly by: ReportData['by'] }) {
  const kinds = Object.keys(by).filter((kind) => (by[kind]?.length ?? 0) > 0)
  const [chosen, setChosen] = useState('gallery')
  const kind = kinds.includes(chosen) ? chosen : kinds[0]
  if (kind === undefined) return null
  const groups: readonly Group[] = by[kind] ?? []
  const scale = scaleOf(groups.map(({ rank_percentile }) => rank_percentile))
  const number = (title: string, cell: (group: Group) => string): Column<Group> => ({
    ...{ title, cell },
    kind: 'number',
  })
  return (
    <Panel title="By group">
      <label class="field">
        Group{' '}
        <select value={kind} onChange={(event) => setChosen(event.currentTarget.value)}>
          {kinds.map((name) => (
            <option key={name} value={name}>
              {humanize(name)}
            </option>
          ))}
        </select>
      </label>
      <Table
        caption={`Figures of the model by ${humanize(kind)}`}
        isCaptionHidden
        rows={groups}
        rowKey={({ value }) => value ?? ''}
        columns={[
          { title: humanize(kind), cell: ({ value }) => <Text>{value ?? 'unknown'}</Text> },
          {
            title: 'Ranked below a saved post',
            kind: 'interval',
            cell: ({ rank_percentile }) => <IntervalFigure {...rank_percentile} scale={scale} />,
          },
          number('Precision', ({ precision }) => percent(precision, 0)),
          number('Recall', ({ recall }) => percent(recall, 0)),
          number('Saved', ({ saved }) => integer(saved)),
          number('Picked and saved', ({ picked_saved }) => integer(picked_saved)),
          number('Posts', ({ visits }) => integer(visits)),
        ]}
      />
    </Panel>
  )
}

function FirstScores({ report: { first_score } }: { readonly report: ReportData }) {
  const { share, target, on_time, late, never, excluded, reasons, worst } = first_score
  return (
    <Panel title="First scores">
      <Facts
        isLong
        facts={[
          ['On time', `${percent(share)} (target ${percent(target, 0)})`],
          [
            'Counts',
            `${integer(on_time)} on time, ${integer(late)} late, ${integer(never)} never, ${integer(excluded)} not counted`,
          ],
          ...Object.entries(reasons).map(([reason, count]) => [humanize(reason), integer(count)] as const),
        ]}
      />
      {worst.length === 0 ? (
        <p class="empty">Every post had its first score on time.</p>
      ) : (
        <Table
          caption="The posts whose first score came latest"
          rows={worst}
          rowKey={(offender) => String(worst.indexOf(offender))}
          columns={offenderColumns}
        />
      )}
    </Panel>
  )
}

const offenderColumns: readonly Column<Offender>[] = [
  {
    title: 'Post',
    cell: ({ gall_id, post_no }) =>
      gall_id === null || post_no === null ? (
        '–'
      ) : (
        <a href={postAddress(gall_id, post_no)}>
          <Text>{gall_id}</Text> · {post_no}
        </a>
      ),
  },
  {
    title: 'Result',
    cell: ({ result }) => <Badge tone={result === 'never' ? 'fail' : 'warn'}>{result}</Badge>,
  },
  { title: 'Reason', cell: ({ reason }) => humanize(reason) },
  { title: 'Extracted', cell: ({ extracted_at }) => dayClock(extracted_at) },
  { title: 'First score', cell: ({ first_scored_at }) => dayClock(first_scored_at) },
  { title: 'Late by', kind: 'number', cell: ({ minutes_late }) => minutes(minutes_late) },
]
