/**
 * docs/export.md: its tables are those of the schema, and its example queries run on an export.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../../test/helpers/bodies.js'
import { columnsText, expectTables } from '../../../test/helpers/documented-columns.js'
import { queried } from '../../../test/helpers/exported-tables.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { RecordedDirectory } from '../../../test/helpers/recorded-directory.js'
import { projectDir } from '../../../test/helpers/project.js'
import { formatInstant } from '../../contract/index.js'
import { catalogue } from '../../model/index.js'
import { exportStore } from './export-store.js'
import { exportTables, type ExportColumn } from './schema.js'

const file = join(projectDir, 'docs/export.md')
const page = readFileSync(file, 'utf8')

test('the tables are those of the schema', () => {
  expectTables(file, tablesText())
})

/** Columns that three tables or more have, and those of each table; neighbours with one meaning share a line. */
function tablesText(): string {
  const tables = Object.entries(exportTables)
  const all = tables.flatMap(([, { columns }]) => columns)
  const isShared = (column: ExportColumn): boolean => all.filter((other) => isSame(column, other)).length >= 3
  const shared = all.filter(
    (column, index) => isShared(column) && all.findIndex((other) => isSame(column, other)) === index,
  )
  const sections = tables.map(([name, { meaning, columns }]) => {
    const others = columns.filter((column) => isShared(column)).map((column) => `\`${column.name}\``)
    const also = others.length === 0 ? '' : ` Shared columns: ${others.join(', ')}.`
    return `### \`${name}\`\n\n${meaning}${also}\n\n${columnLines(columns.filter((column) => !isShared(column)))}`
  })
  return [`### Shared columns\n\n${columnLines(shared)}`, ...sections].join('\n')
}

function isSame(one: ExportColumn, other: ExportColumn): boolean {
  return one.name === other.name && one.type === other.type && one.meaning === other.meaning
}

/** The short name of a type that has one. */
const columnLines = (columns: readonly ExportColumn[]): string =>
  columnsText(
    columns.map((column) => ({
      ...column,
      type: column.type === 'TIMESTAMP WITH TIME ZONE' ? 'TIMESTAMPTZ' : column.type,
    })),
  )

/** Those of the page, and those of the file that it names, which begin with their title as a comment. */
const queries = [
  ...[...page.matchAll(/```sql\n([^]*?)```/g)].map(([, sql]) => ({ title: sql?.split('\n')[0], sql })),
  ...readFileSync(join(projectDir, 'docs/examples/queries.sql'), 'utf8')
    .split('\n\n-- ')
    .slice(1)
    .map((text) => ({ title: text.split('\n')[0], sql: text.split('\n').slice(1).join('\n') })),
]

describe('the example queries', () => {
  let directory: string

  beforeAll(async () => {
    // A scratch directory is removed after the first test.
    directory = mkdtempSync(join(tmpdir(), 'understudy-export-'))
    const recorded = await recordedHistory()
    const window = { fromMs: -Infinity, toMs: Infinity }
    await exportStore(recorded.store, {
      directory,
      features: catalogue,
      missing: 'nan',
      texts: false,
      ...window,
    })
  })

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test('are at least a dozen', () => {
    expect(queries.length).toBeGreaterThanOrEqual(12)
  })

  test.each(queries)('$title: runs and finds rows', async ({ sql }) => {
    const { rows } = await queried(directory, sql ?? '')
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.flat().some((value) => value !== null && value !== 0)).toBe(true)
  })
})

/** Posts 1 to 5 enter: 1 is saved, 2 is hidden, 3 waits, 4 lacks its title, 5 stays. A shadow scores too. */
async function recordedHistory(): Promise<RecordedDirectory> {
  const recorded = await RecordedDirectory.open()
  await recorded.service.models.addShadow(Object.assign(new FakeModel(), { version: 'shadow-1' }))
  for (const index of [0, 1, 2, 3])
    await recorded.submit(
      cycleBody(index, {
        candidates:
          index === 0
            ? [1, 2, 3, 4, 5].map((post) => candidate('humor', post, post === 4 ? { title: '' } : {}))
            : [],
        engagement: [1, 2, 4, 5].map((post) =>
          reading('humor', post, cycleMs(index), { views: 10 * post + index, up: post === 2 ? null : 3 }),
        ),
        candidate_scores: [snapshot('humor', 1, cycleMs(index) - 60_000, { hit_cnt: index, upimg_cnt: 1 })],
        removals:
          index === 3
            ? [
                removal('humor', 1, {
                  reason: 'saved',
                  tier: 'main',
                  decided_at: formatInstant(cycleMs(2) + 1000),
                }),
                removal('humor', 2, { reason: 'hidden', decided_at: formatInstant(cycleMs(2) + 2000) }),
              ]
            : [],
      }),
    )
  const placement = {
    placement_id: 'p1',
    gall_id: 'humor',
    post_no: 1,
    tier: 'main',
    placed_at: cycleBody(3).cycle_time,
    picked_by: { type: 'operator' as const },
    score_at_placement: 0.5,
    readings: [
      {
        age_h: 24 as const,
        observed_at: cycleBody(290).cycle_time,
        views: 100,
        up: 5,
        down: 0,
        comment_cnt: 2,
      },
    ],
  }
  await recorded.putOutcomes([placement], cycleMs(300))
  const { models } = recorded.store
  const isScored = (): boolean => models.shadowVersions(1).length > 0
  await vi.waitUntil(isScored, { timeout: 20_000, interval: 5 })
  return recorded
}
