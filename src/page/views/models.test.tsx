/** Models: each figure, state and command is that of its version. All values of the fixture differ. */
import '../../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, expect, test, vi } from 'vitest'
import { modelsFixture } from '../../../test/helpers/page-fixtures.js'
import { responses } from '../../../test/helpers/page-queries.js'
import { comparisonFixture } from '../../../test/helpers/report-fixtures.js'
import { badgesOf, elementsOf, factsOf, rowsOf, textOf } from '../../../test/helpers/rendered-page.js'
import { ChecksOf, ComparisonOf, Models } from './models.js'

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))

/** The cards by version. */
function cards(): Record<string, string> {
  responses.set('/api/models', modelsFixture)
  const html = renderToString(<Models />)
  const parts = html.split('<section class="panel card"').slice(1)
  return Object.fromEntries(parts.map((card) => [/aria-label="([^"]*)"/.exec(card)?.[1] ?? '', card]))
}

beforeEach(() => responses.clear())

test('versions in use come first: serving, shadow, loading, wanted, failed', () => {
  expect(Object.keys(cards())).toEqual(['v-now', 'v-next', 'v-bad', 'v-old', 'v-broken'])
  responses.set('/api/models', modelsFixture)
  expect(textOf(renderToString(<Models />))).toMatch(
    /^Models 5 versions in \/srv\/models, shadows skipped 13 cycles /,
  )
})

test('each version has its state', () => {
  const badges = Object.entries(cards()).map(([version, card]) => [version, ...badgesOf(card)])
  expect(badges).toEqual([
    ['v-now', 'ok serving'],
    ['v-next', 'accent shadow', 'warn transport test'],
    ['v-bad', 'fail failed'],
    ['v-old', 'plain not in use'],
    ['v-broken', 'plain not in use'],
  ])
})

test('a version has its facts', () => {
  expect(factsOf(cards()['v-now']!)).toEqual({
    Kind: 'trained',
    Heads: 'p_views, p_up',
    Reads: 'features, text, images',
    'Runs on': 'cpu',
    Memory: '500 MiB',
    'Time per cycle': '11.5 ms median, 29.5 ms p99 of 287 cycles',
    note: 'a note',
    'trained on': 'march data',
    'git commit': 'abc123',
  })
  expect(factsOf(cards()['v-old']!)).toEqual({
    Kind: 'trained',
    Heads: '–',
    Reads: 'features',
    Memory: '100 MiB',
  })
  expect(textOf(cards()['v-now']!)).toContain('3 features')
})

test('a version that failed or cannot be read has its reason and its time', () => {
  expect(textOf(cards()['v-bad']!)).toContain('Failed 2026-03-02 12:31 KST: no file')
  expect(textOf(cards()['v-broken']!)).toContain('The package cannot be read: manifest.json: no JSON')
})

test('a version that serves instead of another, or whose files have changed, says so, and no other does', () => {
  const notices = Object.entries(cards()).flatMap(([version, card]) =>
    elementsOf(card, 'p')
      .map(textOf)
      .filter((text) => /instead of|on disk/.test(text))
      .map((text) => [version, text]),
  )
  expect(notices).toEqual([
    [
      'v-now',
      'Serves instead of v-bad since 2026-03-02 12:32 KST, which failed its cycles, until a version is activated: no memory',
    ],
    [
      'v-next',
      'Changed on disk: heads.onnx differs. The server keeps the files that it has loaded; a restart refuses the changed ones.',
    ],
  ])
})

test('each version has the commands that change something for it, and the serving one leads back', () => {
  const commands = (version: string): string[] => elementsOf(cards()[version]!, 'code').map(textOf)
  expect(commands('v-old')).toEqual(['verify v-old', 'inspect v-old', 'shadow v-old', 'activate v-old'])
  expect(commands('v-now')).toEqual(['verify v-now', 'inspect v-now', 'activate v-old'])
  expect(textOf(cards()['v-now']!)).toContain('Back to v-old, which scored before:')
})

test('each other version can be compared with the serving one', () => {
  const compared = Object.entries(cards()).filter(([, card]) => card.includes('Agreement with v-now'))
  expect(compared.map(([version]) => version)).toEqual(['v-next', 'v-bad', 'v-old', 'v-broken'])
})

test('each check has its state and its sentence', () => {
  const checks = (['pass', 'warn', 'fail', 'skip'] as const).map((state, i) => ({
    check: `check_${i}`,
    state,
    sentence: `Sentence ${i}.`,
  }))
  responses.set('/api/models/v-1/checks', { checks })
  const html = renderToString(<ChecksOf version="v-1" />)
  expect(factsOf(html)).toEqual({
    'check 0': 'passed Sentence 0.',
    'check 1': 'warning Sentence 1.',
    'check 2': 'failed Sentence 2.',
    'check 3': 'skipped Sentence 3.',
  })
  expect(badgesOf(html)).toEqual(['ok passed', 'warn warning', 'fail failed', 'plain skipped'])
})

test('a comparison has its figures, and the quality of both versions', () => {
  responses.set('/api/models/v-2/comparison', comparisonFixture)
  const html = renderToString(<ComparisonOf version="v-2" />)
  expect(factsOf(html)).toEqual({
    Cycles: '288, 03-01 12:05 to 03-02 12:00',
    Posts: '45,678',
    'Rank correlation': '0.912',
    'In common': '71% of the best 10, 72% of the best 50',
    'Mean difference': '0.0123',
  })
  expect(rowsOf(html, /^Differences/)).toMatchObject([
    { Order: 'v-1', Against: 'v-2', Difference: '+6.0 pp +4.9 to +7.2', Verdict: 'better' },
  ])
  expect(rowsOf(html, /^Quality over these cycles/)).toMatchObject([
    { Order: 'v-1', 'Saved posts found': '53.1% 52.0 to 55.0', Earlier: '41 min' },
    { Order: 'v-2', 'Saved posts found': '43.1% 42.0 to 45.0', Earlier: '51 min' },
  ])
})

test('a models directory that cannot be read is named with the reason, not as empty', () => {
  responses.set('/api/models', { ...modelsFixture, models: [], problem: 'EACCES: /srv/models' })
  expect(textOf(renderToString(<Models />))).toContain(
    'The models directory cannot be read: EACCES: /srv/models',
  )
})
