/** Plots of a report as SVG: one line per estimate, its value as a dot and its 95 % interval as a bar. */
import type { Estimate } from '../../history/index.js'
import { fitCells } from '../text-table.js'

export interface PlottedEstimate extends Estimate {
  readonly label: string
}

export interface PlotScale {
  readonly from: number
  /** If absent: the highest end of an interval. */
  readonly to?: number
  /** A value to compare with, drawn as a dashed line. */
  readonly mark?: number
}

const rowHeight = 22
// Narrow, so that the text stays legible on a phone; the page widens the plot elsewhere.
const [left, width, right, top, bottom] = [185, 230, 50, 8, 22]
const labelCellsMax = 24

/** Estimates without a value are omitted. Values are shares. */
export function intervalPlot(title: string, estimates: readonly PlottedEstimate[], scale: PlotScale): string {
  const rows = estimates.filter(({ value }) => value !== null)
  if (rows.length === 0) return ''
  const to =
    scale.to ?? Math.max(0.01, ...rows.map(({ value, ci95 }) => Math.max(value ?? 0, ci95?.[1] ?? 0)))
  const x = (value: number): string => (left + (width * (value - scale.from)) / (to - scale.from)).toFixed(1)
  const height = top + rows.length * rowHeight + bottom
  const end = height - bottom
  const ticks = Array.from({ length: 5 }, (_, i) => scale.from + (i * (to - scale.from)) / 4)
  const lines = [
    ...ticks.map(
      (tick) =>
        `<line x1="${x(tick)}" x2="${x(tick)}" y1="${top}" y2="${end}" stroke="#e5e5e5"/>` +
        `<text x="${x(tick)}" y="${height - 6}" text-anchor="middle" fill="#555">${percentOf(tick)}</text>`,
    ),
    ...(scale.mark === undefined
      ? []
      : [
          `<line x1="${x(scale.mark)}" x2="${x(scale.mark)}" y1="${top}" y2="${end}" stroke="#999" stroke-dasharray="4 3"/>`,
        ]),
    ...rows.map(({ label, value, ci95 }, row) => {
      const y = top + (row + 0.5) * rowHeight
      const bar =
        ci95 === null
          ? ''
          : `<line x1="${x(ci95[0])}" x2="${x(ci95[1])}" y1="${y}" y2="${y}" stroke="#7aa6d8" stroke-width="7"/>`
      return (
        `<text x="${left - 10}" y="${y + 4}" text-anchor="end">${escapeText(fitCells(label, labelCellsMax))}</text>${bar}` +
        `<circle cx="${x(value ?? 0)}" cy="${y}" r="4" fill="#174a84"/>` +
        `<text x="${left + width + 8}" y="${y + 4}">${percentOf(value ?? 0)}</text>`
      )
    }),
  ]
  return `<h2>${escapeText(title)}</h2>
<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escapeText(title)}" width="${left + width + right}" height="${height}" viewBox="0 0 ${left + width + right} ${height}" font-family="system-ui, sans-serif" font-size="12">
${lines.join('\n')}
</svg>`
}

function percentOf(value: number): string {
  return `${(100 * value).toFixed(value !== 0 && value < 0.1 ? 1 : 0)} %`
}

/** Text of a document. Gallery ids and versions come from outside. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
