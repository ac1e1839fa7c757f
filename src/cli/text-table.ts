/**
 * Text in columns. A Hangul syllable, an ideograph or an emoji takes two cells of a terminal, so widths are
 * counted in cells, not in characters.
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

/** Rows under a head, columns aligned; a column whose cells are all numbers is aligned on the right. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((title, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    const side: 'left' | 'right' =
      cells.length > 0 && cells.every((cell) => /^-?[\d.,]+$/.test(cell)) ? 'left' : 'right'
    return { cells: Math.max(...[title, ...cells].map(cellWidth)), side }
  })
  const line = (row: readonly string[]): string =>
    columns
      .map(({ cells, side }, index) => padCells(row[index] ?? '', cells, side))
      .join('  ')
      .trimEnd()
  const rule = columns.map(({ cells }) => '─'.repeat(cells))
  return `${[head, rule, ...rows].map(line).join('\n')}\n`
}
