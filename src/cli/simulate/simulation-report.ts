/**
 * A simulation as text: what was sent and checked, and the best posts of its last cycle.
 */
import { hourMs } from '../../base/index.js'
import type { SimulationReport, SimulationTotals } from '../../simulator/index.js'
import { count, kstTime, milliseconds } from '../text/format.js'
import { fitCells, formatTable, wrapCells } from '../text/text-table.js'

/** Cells of a title in the table of the best posts. */
const titleCellsMax = 60

/** The report for a terminal of `columns` cells. */
export function describeReport(report: SimulationReport, columns?: number): string {
  return `${simulationFacts(report, columns)}\n${topTable(report, columns)}`
}

export function simulationFacts(report: SimulationReport, columns = Infinity): string {
  const { totals, postMs } = report
  const hours = (report.endAtMs - report.startAtMs) / hourMs
  const lines = [
    `${kstTime(report.startAtMs)} to ${kstTime(report.endAtMs)} KST: ${Number(hours.toFixed(2))} h in ` +
      `${(report.wallMs / 1000).toFixed(1)} s`,
    `${count(totals.cycles)} cycles, ${count(totals.candidates)} posts, ${count(totals.scored)} scores; ` +
      `model ${report.modelVersion}, weights ${report.weightsVersion}`,
    imageLine(totals),
    ...faultLines(totals),
    `POST /v1/cycles: median ${milliseconds(postMs.p50)}, p90 ${milliseconds(postMs.p90)}, p99 ${milliseconds(postMs.p99)}, ` +
      `maximum ${milliseconds(postMs.max)}`,
    'No response violated the contract.',
    'The simulated client leaves out the title or the times of some posts, and marks some as unavailable. These get their first ' +
      'score late or never, so first scores on time stay below their target.',
    ...(report.postsRemoved === 0
      ? []
      : [`${count(report.postsRemoved)} pending posts removed with one more cycle`]),
  ]
  return lines.flatMap((line) => wrapCells(line, columns).map((part) => `${part}\n`)).join('')
}

function imageLine({ imagesCreated, imagesRepeated }: SimulationTotals): string {
  const repeated = imagesRepeated === 0 ? '' : `, ${count(imagesRepeated)} of them stored before`
  return `${count(imagesCreated + imagesRepeated)} images uploaded${repeated}`
}

function faultLines(totals: SimulationTotals): string[] {
  const faults = totals.faults + totals.restarts
  const kinds = faults === 0 ? '' : ' (lost responses, broken connections, duplicate calls, client restarts)'
  return [
    `${count(faults)} faults injected${kinds}`,
    `${count(totals.responsesReread)} stored responses read again, all unchanged`,
    ...(totals.retries === 0 ? [] : [`${count(totals.retries)} retries while the service was unavailable`]),
  ]
}

function topTable({ top, modelVersion }: SimulationReport, columns: number | undefined): string {
  if (top.length === 0) return 'No post had a score in the last cycle.\n'
  const rows = top.map(({ gall_id, post_no, title, score }, index) => [
    String(index + 1),
    score.toFixed(4),
    gall_id,
    String(post_no),
    fitCells(title, titleCellsMax),
  ])
  // Health and responses name the version of a model and not its kind. Packages of this kind have it in their names.
  const warning = modelVersion.startsWith('transport-test')
    ? `${wrapCells(`${modelVersion}: pseudo-random weights, the order has no meaning`, columns ?? Infinity).join('\n')}\n`
    : ''
  const table = formatTable(['', 'score', 'gallery', 'post', 'title'], rows, {
    cellsMax: columns,
    column: 4,
  })
  return `The best posts of the last cycle, by score\n${warning}\n${table}`
}
