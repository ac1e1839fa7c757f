/** docs/data.md has every table of the record of a cycle with its columns, as they are declared. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { columnsText, expectTables } from '../../test/helpers/documented-columns.js'
import { projectDir } from '../../test/helpers/project.js'
import { poolTable } from './saved-pool.js'
import { cycleTables } from './tables.js'

const file = join(projectDir, 'docs/data.md')

test('docs/data.md has the tables of the record of a cycle, in their order', () => {
  const sections = Object.entries(cycleTables).map(
    ([name, { row, columns }]) => `### \`${name}\`\n\n${row}\n\n${columnsText(columns)}`,
  )
  expectTables(file, sections.join('\n'))
})

test('docs/data.md says what a row of a saved pool is', () => {
  expect(readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ')).toContain(`a row is: ${poolTable.row}`)
})
