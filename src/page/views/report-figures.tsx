/**
 * The figures of a report, for the page and for the document of `report --html`. It reads nothing but its data, and a
 * document needs no script: everything is open, and there are no links into the page.
 */
import type { Difference, Group, GroupKind, LateVisit, Ranker, Report } from '../../contract/index.js'
import { plural, dayClock, integer, minutes, percent, humanize } from '../format.js'
import { Badge, Disclosure, Facts, Panel, Text, Tile } from '../parts/common.js'
import { IntervalFigure, scaleOf, Table, type Column } from '../parts/table.js'
import { postAddress } from '../router.js'
import { DifferenceTable, Metrics, Placements, RankerTable } from './report-tables.js'

interface ReportFiguresProps {
  readonly report: Report
  readonly isDocument?: boolean
}

export function ReportFigures({ report, isDocument = false }: ReportFiguresProps) {
  if (report.window.cycles === 0) return <p class="empty">No cycle is stored.</p>
  return (
    <>
      <Summary report={report} />
      <Rankers rankers={report.rankers} />
      <Differences differences={report.differences} />
      <Metrics rankers={report.rankers} />
      <Groups by={report.by} isDocument={isDocument} />
      <FirstScores report={report} isDocument={isDocument} />
      <Placements outcomes={report.outcomes} />
    </>
  )
}

export function windowText({ window }: Report): string {
  const { cycles, days, from, to } = window
  return `${plural(cycles, 'cycle')} on ${plural(days, 'day')}, ${dayClock(from)} to ${dayClock(to)} KST`
}

function Summary({ report: { visits, rankers, window } }: { readonly report: Report }) {
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

function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  if (differences.length === 0) return null
  return (
    <Panel title="Comparison">
      <DifferenceTable differences={differences} />
    </Panel>
  )
}

const groupTitles: Readonly<Record<GroupKind, string>> = {
  gallery: 'Gallery',
  tier: 'Tier',
  source: 'Source',
  gallery_type: 'Gallery type',
  hour: 'Hour of the decision (KST)',
  version: 'Model / weights',
}
const groupKinds = Object.keys(groupTitles) as GroupKind[]

function Groups({ by, isDocument }: { readonly by: Report['by']; readonly isDocument: boolean }) {
  const kinds = groupKinds.filter((kind) => by[kind].length > 0)
  if (kinds.length === 0) return null
  return (
    <Panel title="By group">
      {kinds.map((kind, i) => (
        <Disclosure key={kind} title={groupTitles[kind]} isInitiallyOpen={isDocument || i === 0}>
          {() => <GroupTable title={groupTitles[kind]} groups={by[kind]} />}
        </Disclosure>
      ))}
    </Panel>
  )
}

function GroupTable({ title, groups }: { readonly title: string; readonly groups: readonly Group[] }) {
  const scale = scaleOf(groups.map(({ rank_percentile }) => rank_percentile))
  return (
    <Table
      caption={`Figures of the model by ${title}`}
      isCaptionHidden
      rows={groups}
      rowKey={({ value }) => value ?? ''}
      columns={[
        { title, cell: ({ value }) => <Text>{value ?? 'unknown'}</Text> },
        {
          title: 'Ranked below a saved post',
          kind: 'interval',
          cell: ({ rank_percentile }) => <IntervalFigure {...rank_percentile} scale={scale} />,
        },
        { title: 'Precision', kind: 'number', cell: ({ precision }) => percent(precision, 0) },
        { title: 'Recall', kind: 'number', cell: ({ recall }) => percent(recall, 0) },
        { title: 'Saved', kind: 'number', cell: ({ saved }) => integer(saved) },
        { title: 'Picked', kind: 'number', cell: ({ picks }) => integer(picks) },
        { title: 'Picked and saved', kind: 'number', cell: ({ picked_saved }) => integer(picked_saved) },
        { title: 'Posts', kind: 'number', cell: ({ visits }) => integer(visits) },
      ]}
    />
  )
}

interface FirstScoresProps {
  readonly report: Report
  readonly isDocument: boolean
}

function FirstScores({ report: { first_score }, isDocument }: FirstScoresProps) {
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
          rowKey={(late) => String(worst.indexOf(late))}
          columns={isDocument ? lateColumns : [linkColumn, ...lateColumns.slice(1)]}
        />
      )}
    </Panel>
  )
}

const linkColumn: Column<LateVisit> = {
  title: 'Post',
  cell: (late) => {
    const { gall_id, post_no } = late
    if (gall_id === null || post_no === null) return '–'
    return <a href={postAddress(gall_id, post_no)}>{postName(late)}</a>
  },
}

const lateColumns: readonly Column<LateVisit>[] = [
  { title: 'Post', cell: postName },
  {
    title: 'Result',
    cell: ({ result }) => <Badge tone={result === 'never' ? 'fail' : 'warn'}>{result}</Badge>,
  },
  { title: 'Reason', cell: ({ reason }) => humanize(reason) },
  { title: 'Extracted', cell: ({ extracted_at }) => dayClock(extracted_at) },
  { title: 'Deadline', cell: ({ deadline }) => dayClock(deadline) },
  { title: 'First score', cell: ({ first_scored_at }) => dayClock(first_scored_at) },
  { title: 'Late by', kind: 'number', cell: ({ minutes_late }) => minutes(minutes_late) },
]

function postName({ gall_id, post_no }: LateVisit) {
  return (
    <>
      <Text>{gall_id ?? 'unknown'}</Text> · {post_no ?? 'unknown'}
    </>
  )
}
