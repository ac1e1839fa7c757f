/** docs/data.md lists every table and every column, as they are declared. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cycleTableNames, cycleTables } from './tables.js'

const page = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8')
const paragraphs = page.split('\n\n').map((text) => text.replaceAll(/\n(?!- )\s*/g, ' '))

test.each(cycleTableNames)('%s', (name) => {
  const { row, columns } = cycleTables[name]
  const heading = paragraphs.indexOf(`**\`${name}\`** ${row}`)
  expect(heading).toBeGreaterThan(0)
  // Neighbours of one type and one meaning share a line.
  const lines = (paragraphs[heading + 1] ?? '').matchAll(/^- (`\w+`(?:, `\w+`)*) (\w+): (.*)$/gm)
  const listed = [...lines].flatMap(([, names = '', type, meaning]) =>
    [...names.matchAll(/\w+/g)].map(([column]) => [column, type, meaning]),
  )
  expect(listed).toEqual(columns.map((column) => [column.name, column.type, column.meaning]))
})
