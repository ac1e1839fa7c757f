/**
 * Feature names from files, and which of their columns are features.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chooseFeatures, givenSource, packageSources, type FeatureSource } from './feature-source.js'
import { Inventory } from './inventory.js'

function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-features-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
  return directory
}

const sourceOf = (file: string, text: string): Promise<FeatureSource> =>
  givenSource(join(directoryOf({ [file]: text }), file), true)

test('a table for training has keys and labels beside its features', async () => {
  const table = await sourceOf(
    'rows.csv',
    '\uFEFFpost_no,"gall,id",up_log,views_log,saved\r\n7,"a ""b""",1.5,,1\r\n',
  )
  expect(table.names).toEqual(['post_no', 'gall,id', 'up_log', 'views_log', 'saved'])
  expect(table.rows).toEqual([[7, NaN, 1.5, NaN, 1]])
  expect(chooseFeatures(table, 2)).toEqual({ names: ['up_log', 'views_log'], columns: [2, 3] })
  expect(chooseFeatures(table, null)).toEqual({ names: ['up_log', 'views_log'], columns: [2, 3] })
  expect(chooseFeatures(table, 3)).toBeNull()
})

test('as many names as the graph has columns are its features, whether the catalogue has them or not', () => {
  const source = { from: 'x', names: ['views_log', 'luck'], rows: null }
  expect(chooseFeatures(source, 2)).toEqual({ names: ['views_log', 'luck'], columns: [0, 1] })
})

test.each([
  ['features.txt', '# order\nviews_log\n\nlog1p(up_per_view)\n'],
  ['features.txt', 'views_log, log1p(up_per_view)'],
  ['features.json', '["views_log", "log1p(up_per_view)"]'],
  ['features.json', '{ "feature_names": ["views_log", "log1p(up_per_view)"] }'],
])('%s with %j names two features', async (file, text) => {
  expect((await sourceOf(file, text)).names).toEqual(['views_log', 'log1p(up_per_view)'])
})

test('a list of features comes before tables, and golden cases come last', async () => {
  const directory = directoryOf({
    'a.csv': 'views\n',
    'feature_names.txt': 'up\n',
    'notes.txt': 'down\n',
    'golden.json': '{ "cases": [{ "features": { "down": 1, "up": 2 } }] }',
  })
  const sources = await packageSources(await Inventory.read(directory))
  expect(sources.map(({ from, names }) => [from, names])).toEqual([
    ['feature_names.txt', ['up']],
    ['a.csv', ['views']],
    ['golden.json', ['down', 'up']],
  ])
})
