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
  const listed = [...(section?.split('**')[0] ?? '').matchAll(/\| `(\w+)` \| (\w+) \| ([^|]*) /g)]
  expect(listed.map(([, column, type, meaning]) => [column, type, meaning?.trim()])).toEqual(
    columns.map((column) => [column.name, column.type, column.meaning]),
  )
})
