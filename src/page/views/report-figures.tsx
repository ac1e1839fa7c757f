/**
 * The figures of a report, for the page and for the document of `report --html`. It reads nothing but its data, and a
 * document needs no script: everything is open, and there are no links into the page.
 */
import type { Report } from '../../contract/index.js'
import {
  isComparable,
  rankerNames,
  reportSections,
  type ReportSection,
} from '../../contract/report-tables.js'
import { counted, dayClock, integer, minutes, percent } from '../format.js'
import { language, t } from '../messages/index.js'
import { Disclosure, Facts, Panel, Text, Tile } from '../parts/common.js'
import { CellView, DataTableView } from '../parts/data-table.js'

interface ReportFiguresProps {
  readonly report: Report
  readonly isDocument?: boolean
}

export function ReportFigures({ report, isDocument = false }: ReportFiguresProps) {
  if (report.window.cycles === 0) return <p class="empty">{t.report.empty}</p>
  return (
    <>
      <Summary report={report} />
      {!isComparable(report) && (
        <p class="notice">{t.report.nothingToCompare(report.rankers[0]?.rank_percentile.n ?? 0)}</p>
      )}
      {reportSections(report, language).map((section) => (
        <Section key={section.title} section={section} isDocument={isDocument} />
      ))}
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
          title={t.report.budget(rankerNames(rankers, language)('model'))}
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

interface SectionProps {
  readonly section: ReportSection
  readonly isDocument: boolean
}

function Section({ section: { title, note, facts, tables, tableTitles }, isDocument }: SectionProps) {
  return (
    <Panel title={title}>
      {facts.length > 0 && (
        <Facts isLong facts={facts.map(([name, cell]) => [name, <CellView key={name} cell={cell} />])} />
      )}
      {note !== null && <p class="muted">{note}</p>}
      {tables.map((table, i) =>
        tableTitles === null ? (
          <DataTableView key={table.caption} table={table} isDocument={isDocument} />
        ) : (
          <Disclosure
            key={table.caption}
            title={tableTitles[i] ?? ''}
            isInitiallyOpen={isDocument || i === 0}
          >
            {() => <DataTableView table={table} isCaptionHidden isDocument={isDocument} />}
          </Disclosure>
        ),
      )}
    </Panel>
  )
}
