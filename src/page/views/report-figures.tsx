/**
 * The figures of a report, for the page and for the document of `report --html`. It reads nothing but its data, and a
 * document needs no script: everything is open, and there are no links into the page.
 */
import type { Group, GroupKind, LateVisit, Ranker, Report } from '../../contract/index.js'
import { counted, dayClock, integer, minutes, percent } from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, Disclosure, Facts, Panel, Text, Tile } from '../parts/common.js'
import { IntervalFigure, shareAxis, shareScale, Table, type Column } from '../parts/table.js'
import { postAddress } from '../router.js'
import { DifferenceTables, Metrics, Placements, rankerNames, RankerTable } from './report-tables.js'

interface ReportFiguresProps {
  readonly report: Report
  readonly isDocument?: boolean
}

export function ReportFigures({ report, isDocument = false }: ReportFiguresProps) {
  if (report.window.cycles === 0) return <p class="empty">{t.report.empty}</p>
  // Without a save there is nothing to compare any order with.
  const isComparable = report.visits.saved > 0
  return (
    <>
      <Summary report={report} />
      {isComparable ? (
        <>
          <Rankers rankers={report.rankers} />
          {report.differences.length > 0 && (
            <Panel title={t.report.comparison}>
              <DifferenceTables report={report} />
            </Panel>
          )}
          <Metrics rankers={report.rankers} />
          <Groups by={report.by} isDocument={isDocument} />
        </>
      ) : (
        <p class="notice">{t.report.nothingSaved}</p>
      )}
      <FirstScores report={report} isDocument={isDocument} />
      <Placements outcomes={report.outcomes} />
    </>
  )
}

export function windowText({ window }: Report): string {
  const { cycles, days, from, to } = window
  return t.report.window(
    counted(cycles, t.units.cycles),
    counted(days, t.units.days),
    dayClock(from),
    dayClock(to),
  )
}

function Summary({ report: { visits, rankers, window } }: { readonly report: Report }) {
  const budget = rankers[0]?.same_budget
  return (
    <div class="tiles">
      <Tile
        title={t.report.operators}
        value={integer(visits.saved)}
        unit={t.report.savedOf(integer(visits.total))}
        facts={[
          [t.report.hidden, integer(visits.hidden)],
          [t.report.deleted, integer(visits.deleted)],
          [t.report.agedOut, integer(visits.aged_out)],
          [t.report.open, integer(visits.open)],
        ]}
      />
      {budget !== undefined && (
        <Tile
          title={t.report.budget(rankerNames(rankers)('model'))}
          value={percent(budget.recall, 0)}
          unit={t.report.found}
          facts={[
            [t.report.picks, integer(budget.picks)],
            [t.report.saved, integer(budget.saved)],
            [t.report.hiddenOrDeleted, integer(budget.hidden + budget.deleted)],
            [t.report.agedOut, integer(budget.aged_out)],
            [t.report.earlierMedian, minutes(budget.lead_minutes.p50)],
          ]}
        />
      )}
      <Tile
        title={t.report.inForce}
        value={integer(window.versions.length)}
        unit={t.report.pairs(window.versions.length)}
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
    <Panel title={t.report.orders}>
      <RankerTable rankers={rankers} caption={t.report.ordersCaption} />
    </Panel>
  )
}

const groupKinds: readonly GroupKind[] = ['gallery', 'tier', 'source', 'gallery_type', 'hour', 'version']

function Groups({ by, isDocument }: { readonly by: Report['by']; readonly isDocument: boolean }) {
  const kinds = groupKinds.filter((kind) => by[kind].length > 0)
  if (kinds.length === 0) return null
  return (
    <Panel title={t.report.byGroup}>
      {kinds.map((kind, i) => (
        <Disclosure key={kind} title={t.report.groups[kind]} isInitiallyOpen={isDocument || i === 0}>
          {() => <GroupTable kind={kind} groups={by[kind]} />}
        </Disclosure>
      ))}
    </Panel>
  )
}

function GroupTable({ kind, groups }: { readonly kind: GroupKind; readonly groups: readonly Group[] }) {
  const title = t.report.groups[kind]
  return (
    <Table
      caption={t.report.groupCaption(title)}
      isCaptionHidden
      rows={groups}
      rowKey={({ value }) => value ?? ''}
      columns={[
        {
          title,
          cell: ({ value }) => (
            <Text>
              {value === null
                ? word('unknown')
                : kind === 'source' || kind === 'gallery_type'
                  ? word(value)
                  : value}
            </Text>
          ),
        },
        {
          title: t.report.rankedBelow,
          kind: 'interval',
          axis: shareAxis,
          cell: ({ rank_percentile }) => <IntervalFigure {...rank_percentile} scale={shareScale} />,
        },
        { title: t.report.precision, kind: 'number', cell: ({ precision }) => percent(precision, 0) },
        { title: t.report.recall, kind: 'number', cell: ({ recall }) => percent(recall, 0) },
        { title: t.report.saved, kind: 'number', isWideOnly: true, cell: ({ saved }) => integer(saved) },
        { title: t.report.picked, kind: 'number', isWideOnly: true, cell: ({ picks }) => integer(picks) },
        {
          title: t.report.pickedSaved,
          kind: 'number',
          isWideOnly: true,
          cell: ({ picked_saved }) => integer(picked_saved),
        },
        { title: t.report.posts, kind: 'number', isWideOnly: true, cell: ({ visits }) => integer(visits) },
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
    <Panel title={t.report.firstScores}>
      <Facts
        isLong
        facts={[
          [t.report.onTime, t.report.onTimeShare(percent(share), percent(target, 0))],
          [
            t.report.counts,
            t.report.countsOf(integer(on_time), integer(late), integer(never), integer(excluded)),
          ],
          ...Object.entries(reasons).map(([reason, count]) => [word(reason), integer(count)] as const),
        ]}
      />
      {worst.length === 0 ? (
        <p class="empty">{t.report.allOnTime}</p>
      ) : (
        <Table
          caption={t.report.latestCaption}
          rows={worst}
          rowKey={(late) => String(worst.indexOf(late))}
          columns={lateColumns(isDocument)}
        />
      )}
    </Panel>
  )
}

const lateColumns = (isDocument: boolean): readonly Column<LateVisit>[] => [
  { title: t.report.post, cell: isDocument ? postName : postLink },
  {
    title: t.report.result,
    cell: ({ result }) => <Badge tone={result === 'never' ? 'fail' : 'warn'}>{word(result)}</Badge>,
  },
  { title: t.report.reason, cell: ({ reason }) => word(reason) },
  { title: t.report.extracted, cell: ({ extracted_at }) => dayClock(extracted_at) },
  { title: t.report.deadline, cell: ({ deadline }) => dayClock(deadline) },
  { title: t.report.firstScore, cell: ({ first_scored_at }) => dayClock(first_scored_at) },
  { title: t.report.lateBy, kind: 'number', cell: ({ minutes_late }) => minutes(minutes_late) },
]

function postLink(late: LateVisit) {
  const { gall_id, post_no } = late
  if (gall_id === null || post_no === null) return '–'
  return <a href={postAddress(gall_id, post_no)}>{postName(late)}</a>
}

function postName({ gall_id, post_no }: LateVisit) {
  return (
    <>
      <Text>{gall_id ?? word('unknown')}</Text> · {post_no ?? word('unknown')}
    </>
  )
}
