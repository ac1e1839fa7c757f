/**
 * Lists of columns in the documentation, made from their declarations: `UPDATE_DOCS=1` writes them between the markers of a page,
 * otherwise a test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'

export interface DocumentedColumn {
  readonly name: string
  readonly type: string
  readonly meaning: string
}

/** Expects `text` between the lines `tables:begin` and `tables:end` of a page, or writes it there. */
export function expectTables(file: string, text: string): void {
  const page = readFileSync(file, 'utf8')
  const [before = '', , after = ''] = page.split(
    /(?<=<!-- tables:begin.*-->\n)([^]*?)(?=<!-- tables:end -->)/,
  )
  const expected = `${before}\n<!-- prettier-ignore-start -->\n\n${text}\n<!-- prettier-ignore-end -->\n\n${after}`
  if (process.env['UPDATE_DOCS'] !== undefined) writeFileSync(file, expected)
  else expect(page).toBe(expected)
}

/** A line for neighbours with one meaning: their names and types. */
export function columnsText(columns: readonly DocumentedColumn[]): string {
  const lines = neighboursBy(columns, ({ meaning }) => meaning).map((group) => {
    const typed = neighboursBy(group, ({ type }) => type).map((run) => {
      const names = run.map(({ name }) => `\`${name}\``).join(', ')
      return `${names} ${run[0]?.type}`
    })
    return `- ${typed.join('; ')}: ${group[0]?.meaning}\n`
  })
  return lines.join('')
}

/** Runs of neighbours of which `textOf` returns the same. */
function neighboursBy(
  columns: readonly DocumentedColumn[],
  textOf: (column: DocumentedColumn) => string,
): DocumentedColumn[][] {
  const runs: DocumentedColumn[][] = []
  for (const column of columns) {
    const last = runs.at(-1)
    if (last?.[0] !== undefined && textOf(last[0]) === textOf(column)) last.push(column)
    else runs.push([column])
  }
  return runs
}
