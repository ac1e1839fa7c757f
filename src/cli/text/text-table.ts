/**
 * Text tables. Widths are in terminal cells, not in characters: a Hangul syllable, an ideograph or an emoji takes two.
 */

// East Asian wide and full-width blocks, then emoji; combining marks and joiners take no cell.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u
const zeroWidth = /\p{Mn}|\p{Me}|\p{Cf}|[\u1160-\u11ff]/u
/** Control characters, and those that change the direction of the text after them. */
const control = /\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** The string without control characters: those of a title that a stranger wrote could rewrite the screen. */
export function inOneLine(text: string): string {
  return text.replace(control, ' ')
}

/** Lines without other control characters than those that end them. */
export function plainLines(text: string): string {
  return text.split('\n').map(inOneLine).join('\n')
}

/** Cells that a string takes on a terminal. */
export function cellWidth(text: string): number {
  let cells = 0
  for (const point of text) cells += zeroWidth.test(point) ? 0 : wide.test(point) ? 2 : 1
  return cells
}

/** The string, cut to at most `cellsMax` cells; an ellipsis marks a cut. Control characters become spaces. */
export function fitCells(text: string, cellsMax: number): string {
  const plain = inOneLine(text)
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

/** The string in lines of at most `cellsMax` cells, broken after spaces and commas. A longer word has a line of its own. */
export function wrapCells(text: string, cellsMax: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of inOneLine(text).split(/(?<=[ ,])/)) {
    if (line !== '' && cellWidth((line + word).trimEnd()) > cellsMax) {
      lines.push(line.trimEnd())
      line = ''
    }
    line += word
  }
  return [...lines, line.trimEnd()]
}

/** Width of wrapped text if stdout is not a terminal. */
const textCellsDefault = 110
const textCellsMin = 30

/** A label and its text, wrapped at the right margin of a terminal and indented after the label. */
export function labelledLines(label: string, text: string, cellsMax = textCellsDefault): string {
  const indent = ' '.repeat(label.length)
  return wrapCells(text, Math.max(cellsMax - label.length, textCellsMin))
    .map((line, index) => ((index === 0 ? label : indent) + line).trimEnd() + '\n')
    .join('')
}

const gap = '  '

/**
 * Rows under a header with aligned columns; columns of numbers are right-aligned. If the table is wider than `cellsMax`,
 * the width of a terminal, first the titles and then the cells of one `column` are wrapped between words; if that is not
 * enough, each row becomes a list of its cells. Cells may come from clients and model packages: control characters become
 * spaces.
 */
export function formatTable(
  head: readonly string[],
  texts: readonly (readonly string[])[],
  { cellsMax = Infinity, column = 0 }: { cellsMax?: number | undefined; column?: number } = {},
): string {
  const rows = texts.map((row) => row.map(inOneLine))
  const contents = head.map((_, index) => Math.max(...rows.map((row) => cellWidth(row[index] ?? '')), 0))
  const excessOf = (cells: readonly number[]): number =>
    cells.reduce((sum, width) => sum + width + gap.length, -gap.length) - cellsMax
  let widths = head.map((title, index) => Math.max(contents[index]!, cellWidth(title)))
  if (excessOf(widths) > 0)
    widths = head.map((title, index) => Math.max(contents[index]!, longestWord([title])))
  const width = widths[column] ?? 0
  const wrappedCells = width - Math.max(0, excessOf(widths))
  if (wrappedCells < longestWord([head[column] ?? '', ...rows.map((row) => row[column] ?? '')]))
    return rowLists(head, rows, cellsMax)
  widths[column] = wrappedCells
  const isNumeric = head.map((_, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    return cells.some((cell) => cell !== '') && cells.every((cell) => /^(-?[\d.,]+)?$/.test(cell))
  })
  const wrapped = rows.flatMap((row) =>
    wrapCells(row[column] ?? '', widths[column] ?? 0).map((piece, number) =>
      head.map((_, index) => (index === column ? piece : number === 0 ? (row[index] ?? '') : '')),
    ),
  )
  const titles = head.map((title, index) => wrapCells(title, widths[index]!))
  const titleLines = Math.max(...titles.map(({ length }) => length))
  const headLines = Array.from({ length: titleLines }, (_, number) =>
    titles.map((pieces) => pieces[number] ?? ''),
  )
  const line = (row: readonly string[]): string =>
    widths
      .map((cells, index) => {
        const text = row[index] ?? ''
        const padding = ' '.repeat(Math.max(0, cells - cellWidth(text)))
        return isNumeric[index] === true ? padding + text : text + padding
      })
      .join(gap)
      .trimEnd()
  const rule = widths.map((cells) => '─'.repeat(cells))
  return `${[...headLines, rule, ...wrapped].map(line).join('\n')}\n`
}

/** Cells of the longest word that wrapping does not break. */
function longestWord(texts: readonly string[]): number {
  const words = texts.flatMap((text) => text.split(/(?<=[ ,])/))
  return Math.max(0, ...words.map((word) => cellWidth(word.trimEnd())))
}

/** The width of a table. */
export function tableCells(head: readonly string[], rows: readonly (readonly string[])[]): number {
  return Math.max(...formatTable(head, rows).split('\n').map(cellWidth))
}

/** A table that is too wide for its terminal: the first cell of each row, and under it the others with their headings. */
function rowLists(head: readonly string[], rows: readonly (readonly string[])[], cellsMax: number): string {
  const labelCells = Math.max(...head.slice(1).map(cellWidth))
  const lists = rows.map(([first = '', ...cells]) => {
    const lines = cells.flatMap((cell, index) => {
      const label = head[index + 1] ?? ''
      const padded = label + ' '.repeat(labelCells - cellWidth(label))
      return cell === '' ? [] : [labelledLines(`  ${padded}  `, cell, cellsMax)]
    })
    return `${first}\n${lines.join('')}`
  })
  return lists.join('\n')
}
