/** A report as text for a terminal: one screen of sentences, then tables. */
import type { Report } from '../../contract/index.js'
import { formatTable, wrapCells } from '../text-table.js'
import { rankerTable, reportTables, type ReportTable } from './tables.js'
import { differenceSentence, pickSentences, windowSentence } from './wording.js'

const cellsDefault = 100

/** `columns`: width of the terminal. */
export function reportText(report: Report, columns: number | undefined): string {
  const paragraph = paragraphs(columns)
  const tables = report.window.cycles === 0 ? [] : reportTables(report)
  return [firstScreen(report, columns), ...tables.map((table) => tableText(table, columns, paragraph))].join(
    '\n',
  )
}

/** What an editor needs: the counts, the picks of the model next to the baselines, and whether the differences are significant. */
export function firstScreen(report: Report, columns: number | undefined): string {
  const paragraph = paragraphs(columns)
  const first = [windowSentence(report), ...pickSentences(report)].map(paragraph).join('')
  if (report.window.cycles === 0) return first
  const verdicts = report.differences.map((each) => paragraph(differenceSentence(each))).join('')
  const { rows, head, note } = rankerTable(report)
  return [first, paragraph(note) + formatTable(head, rows), verdicts].join('\n')
}

function paragraphs(columns = cellsDefault): (text: string) => string {
  return (text) =>
    wrapCells(text.trimStart(), columns - 2)
      .map((line) => `${text.startsWith(' ') ? '  ' : ''}${line}\n`)
      .join('')
}

function tableText(
  { title, note, head, rows }: ReportTable,
  columns: number | undefined,
  paragraph: (text: string) => string,
): string {
  const table = formatTable(head, rows, { cellsMax: columns, column: 0 })
  return `${paragraph(title)}${note === '' ? '' : paragraph(note)}${table}`
}
