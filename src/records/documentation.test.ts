/** docs/data.md has every table with the meaning of its rows, as they are declared. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { poolTable } from './pool-snapshot.js'
import { cycleTables } from './tables.js'

const page = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8')
const section = (title: string): string =>
  page
    .replaceAll(/\n {2}/g, ' ')
    .split('\n## ')
    .find((text) => text.startsWith(`${title}\n`)) ?? ''

test('docs/data.md lists the tables of the record of a cycle, in their order', () => {
  const listed = [...section('The record of a cycle').matchAll(/^- `(\w+)`: (.*)$/gm)].map(
    ([, name, row]) => [name, row],
  )
  expect(listed).toEqual(Object.entries(cycleTables).map(([name, { row }]) => [name, row]))
})

test('docs/data.md says what a row of a snapshot of the pool is', () => {
  expect(section('Databases').replaceAll(/\s+/g, ' ')).toContain(`a row is: ${poolTable.row}`)
})
