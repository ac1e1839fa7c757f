/** docs/data.md lists every table with the meaning of its rows, as they are declared. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cycleTables } from './tables.js'

const page = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8')

test('docs/data.md lists the tables of the record of a cycle, in their order', () => {
  const [, section = ''] = page.replaceAll(/\n {2}/g, ' ').split('\n## The record of a cycle\n')
  const listed = [...section.matchAll(/^- `(\w+)`: (.*)$/gm)].map(([, name, row]) => [name, row])
  expect(listed).toEqual(Object.entries(cycleTables).map(([name, { row }]) => [name, row]))
})
