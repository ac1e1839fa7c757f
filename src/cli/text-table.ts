/**
 * Text tables. Widths are in terminal cells, not in characters: a Hangul syllable, an ideograph or an emoji takes two.
 */

// East Asian wide and full-width blocks, then emoji; combining marks and joiners take no cell of their own.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u
const widthless = /\p{Mn}|\p{Me}|\p{Cf}|[\u1160-\u11ff]/u
const control = /\p{Cc}/gu

/** Cells that a text takes on a terminal. */
export function cellWidth(text: string): number {
  let cells = 0
  for (const point of text) cells += widthless.test(point) ? 0 : wide.test(point) ? 2 : 1
  return cells
}

/** The text, cut to at most `cellsMax` cells; an ellipsis marks a cut. Control characters become spaces. */
export function fitCells(text: string, cellsMax: number): string {
  const plain = text.replace(control, ' ')
  if (cellWidth(plain) <= cellsMax) return plain
  let cells = 1
  let kept = ''
  for (const point of plain) {
    cells += cellWidth(point)
    if (cells > cellsMax) break
    kept += point
  }
  return `${kept}…`
}

/** Pads with spaces to a width in cells. */
export function padCells(text: string, cells: number, side: 'left' | 'right' = 'right'): string {
  const spaces = ' '.repeat(Math.max(0, cells - cellWidth(text)))
  return side === 'left' ? spaces + text : text + spaces
}

/** The text in lines of at most `cellsMax` cells, broken after spaces and commas where possible. */
export function wrapCells(text: string, cellsMax: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.replace(control, ' ').split(/(?<=[ ,])/)) {
    for (const piece of cellWidth(word.trimEnd()) <= cellsMax ? [word] : word) {
      if (line !== '' && cellWidth((line + piece).trimEnd()) > cellsMax) {
        lines.push(line.trimEnd())
        line = ''
      }
      line += piece
    }
  }
  return [...lines, line.trimEnd()]
}

/** How a table is fitted to a terminal. */
export interface TableFit {
  /** Width of the terminal; undefined for no limit. */
  readonly cellsMax: number | undefined
  /** Index of the column that is narrowed. */
  readonly column: number
  readonly how: 'clip' | 'wrap'
}

const gap = '  '
/** Minimum width of the narrowed column, so that it remains readable. */
const narrowCells = 10

/** Rows under a header with aligned columns; columns of numbers are right-aligned. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  fit?: TableFit,
): string {
  const columns = head.map((title, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    const isNumeric = cells.some((cell) => cell !== '') && cells.every((cell) => /^(-?[\d.,]+)?$/.test(cell))
    const side: 'left' | 'right' = isNumeric ? 'left' : 'right'
    return { cells: Math.max(...[title, ...cells].map(cellWidth)), side }
  })
  const fitted = fit === undefined ? rows : fitRows(rows, columns, fit)
  const line = (row: readonly string[]): string =>
    columns
      .map(({ cells, side }, index) => padCells(row[index] ?? '', cells, side))
      .join(gap)
      .trimEnd()
  const rule = columns.map(({ cells }) => '─'.repeat(cells))
  return `${[head, rule, ...fitted].map(line).join('\n')}\n`
}

/** Narrows one column until the table fits, and returns rows that fit it: a wrapped row becomes several. */
function fitRows(
  rows: readonly (readonly string[])[],
  columns: { cells: number }[],
  { cellsMax = Infinity, column, how }: TableFit,
): (readonly string[])[] {
  const narrowed = columns[column]
  const width = columns.reduce((sum, { cells }) => sum + cells, gap.length * (columns.length - 1))
  if (narrowed === undefined || width <= cellsMax) return [...rows]
  narrowed.cells = Math.min(narrowed.cells, Math.max(narrowCells, narrowed.cells - (width - cellsMax)))
  return rows.flatMap((row) => {
    const cell = row[column] ?? ''
    const pieces = how === 'wrap' ? wrapCells(cell, narrowed.cells) : [fitCells(cell, narrowed.cells)]
    return pieces.map((piece, number) =>
      columns.map((_, index) => (index === column ? piece : number === 0 ? (row[index] ?? '') : '')),
    )
  })
}
