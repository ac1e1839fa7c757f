/**
 * The last screen of the demo: it fits narrow terminals, and a demo without saved posts says so once.
 */
import { expect, test } from 'vitest'
import { reportFixture } from '../../../test/helpers/report-fixtures.js'
import type { NotablePost } from '../../history/index.js'
import { demoScreen, type Demo } from './demo-screen.js'
import { cellWidth } from '../text/text-table.js'

const post = (post_no: number, lead_minutes: number | null): NotablePost => ({
  gall_id: 'baseball_new',
  post_no,
  title: '[질문] 캣타워 추천 좀 해주세요 (예산 120만 원)',
  saved_ms: Date.parse('2026-03-02T05:06:00Z'),
  lead_minutes,
})
const [model, ...others] = reportFixture.rankers
const demo: Demo = {
  page: 'http://127.0.0.1:8081/?token=t',
  url: 'http://127.0.0.1:8080',
  key: 'k',
  dataDir: 'data/demo/8080',
  modelsDir: 'data/demo/8080/models',
  lastCycleId: '20260303T2355',
  best: { gall_id: 'cat', post_no: 597_000_001 },
  report: reportFixture,
  posts: { earlier: [post(597_000_002, 300)], missed: [post(597_000_003, null)] },
}
const nothingToCompare: Demo = {
  ...demo,
  posts: { earlier: [], missed: [] },
  report: {
    ...reportFixture,
    rankers: [{ ...model!, rank_percentile: { mean: null, n: 0, ci95: null } }, ...others],
  },
}

/** Commands are not broken, since they are pasted. */
const isCommand = (line: string): boolean => /^ {2}(curl|npx) /.test(line)

test.each([60, 80, 120])('the screen fits %i columns and breaks no word', (columns) => {
  const wide = demoScreen(demo, 1000)
  const text = demoScreen(demo, columns)
  for (const line of text.split('\n'))
    if (!isCommand(line)) expect(cellWidth(line), line).toBeLessThanOrEqual(columns)
  const wordsOf = (of: string): string[] => of.split(/[\s─]+/).sort()
  expect(wordsOf(text)).toEqual(wordsOf(wide))
})

test('the screen begins with the address of the page, and goes on with the posts at which model and operators differ', () => {
  const lines = demoScreen(demo, 100).split('\n')
  expect(lines[0]).toBe('The page: http://127.0.0.1:8081/?token=t')
  expect(lines.slice(2, 6).join('\n')).toMatch(
    /picked by the model before them:\n.*\n.*\n5\.0 h +\[질문\] .* baseball_new +597000002$/,
  )
  expect(lines.join('\n')).toMatch(
    /not picked by the model:\n.*\n.*\n2026-03-02 14:06 +\[질문\] .* 597000003\n/,
  )
})

test('the commands explain the post that the model had longest before the operators, else the best pending one', () => {
  const data = '--data-dir data/demo/8080 --models-dir data/demo/8080/models'
  expect(demoScreen(demo, 80)).toContain(`npx understudy explain baseball_new 597000002 ${data}\n`)
  expect(demoScreen(nothingToCompare, 80)).toContain(`npx understudy explain cat 597000001 ${data}\n`)
})

test('names in the commands are words of a shell', () => {
  const named = { ...post(7, 300), gall_id: "a 'b' $(c)" }
  const paths = { dataDir: 'my data/demo', modelsDir: 'my data/demo/models' }
  const text = demoScreen({ ...demo, ...paths, posts: { earlier: [named], missed: [] } }, 80)
  expect(text).toContain(
    `npx understudy explain 'a '\\''b'\\'' $(c)' 7 --data-dir 'my data/demo' --models-dir 'my data/demo/models'\n`,
  )
  expect(text).toContain("npx understudy report --data-dir 'my data/demo'\n")
})

test('a few saved posts are too few for a verdict: the screen says so once, and compares from ten posts on', () => {
  const screenWith = (n: number): string => {
    const few = { ...model!, rank_percentile: { ...model!.rank_percentile, n } }
    return demoScreen({ ...nothingToCompare, report: { ...reportFixture, rankers: [few, ...others] } }, 80)
  }
  expect(screenWith(1).replace(/\s+/g, ' ')).toContain(
    'nothing to compare yet: the model has ranked only one post that the operators saved.',
  )
  expect(screenWith(9).match(/only 9 posts/g)).toHaveLength(1)
  expect(screenWith(9)).not.toMatch(/──|better|worse/)
  expect(screenWith(10)).not.toContain('nothing to compare')
  expect(screenWith(10)).toContain('ranks below')
})

test('without a saved post the screen says once that there is nothing to compare, and shows no table', () => {
  const text = demoScreen(nothingToCompare, 80)
  expect(text.match(/nothing to compare|cannot be compared/g)).toEqual(['nothing to compare'])
  expect(text).not.toContain('──')
})
