/** docs/data.md lists every table and every column, as they are declared. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cycleTableNames, cycleTables } from './tables.js'

const page = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8')

test.each(cycleTableNames)('%s', (name) => {
  const { row, columns } = cycleTables[name]
  const heading = `**\`${name}\`** ${row}`
  const section = page.replaceAll(/\s+/g, ' ').split(heading.replaceAll(/\s+/g, ' '))[1]
  expect(section, heading).toBeDefined()
  // Neighbours of one type and one meaning share a row.
  const rows = (section?.split('**')[0] ?? '').matchAll(/\| (`\w+`(?:, `\w+`)*) \| (\w+) \| ([^|]*) /g)
  const listed = [...rows].flatMap(([, names = '', type, meaning]) =>
    [...names.matchAll(/\w+/g)].map(([column]) => [column, type, meaning?.trim()]),
  )
  expect(listed).toEqual(columns.map((column) => [column.name, column.type, column.meaning]))
})
