/**
 * The admin listener of the fixtures: what each path that the page reads responds. `npm run dev -- --fixtures` serves it.
 */
import type {
  CallRecord,
  ListPage,
  Series,
  StoredPage,
  VerificationReport,
} from '../../src/contract/index.js'
import { smallJpeg } from '../harness/jpeg.js'
import {
  callFixture,
  leftFixture,
  modelsFixture,
  nowFixture,
  picksFixture,
  pointFixture,
  postFixture,
  storedFixture,
} from './page-fixtures.js'
import { comparisonFixture, explanationFixture, reportFixture } from './report-fixtures.js'

/** The clock of the fixtures. */
export const fixtureTime = nowFixture.time

const list = { instance: 'i', is_last: true }
const calls: ListPage<CallRecord> = { ...list, items: [callFixture] }
const other: ListPage<CallRecord> = { ...list, items: [] }
const stored: StoredPage = {
  ...list,
  items: [
    {
      position: 7,
      cycleId: storedFixture.cycle_id,
      receivedAt: storedFixture.received_at,
      modelVersion: storedFixture.model_version,
      weightsVersion: storedFixture.weights_version,
    },
  ],
  oldest: 7,
  newest: 7,
}
const image = await smallJpeg(200)
const lists: Readonly<Record<string, object>> = { calls, other, stored }
const series: Series = { points: [pointFixture(0), pointFixture(1)] }
const verification: VerificationReport = {
  version: 'v-now',
  kind: 'trained',
  provider: 'cpu',
  passed: false,
  checks: [
    { check: 'files', state: 'pass', sentence: 'All files have the hashes of the manifest.' },
    { check: 'golden_cases', state: 'warn', sentence: 'The package has no golden cases.' },
    { check: 'scores', state: 'fail', sentence: 'A score is 1.2, and must be between 0 and 1.' },
    { check: 'encoders', state: 'skip', sentence: 'The package has no encoder.' },
  ],
}

const responses: readonly (readonly [path: RegExp, response: (query: URLSearchParams) => unknown])[] = [
  [/^\/now$/, () => nowFixture],
  [/^\/series$/, () => series],
  [/^\/picks$/, () => picksFixture],
  [/^\/left$/, () => leftFixture],
  [/^\/posts\/[^/]+\/\d+$/, () => postFixture],
  [/^\/posts\/[^/]+\/\d+\/history$/, () => explanationFixture],
  [/^\/posts\/[^/]+\/\d+\/images\/\d+$/, () => image],
  [/^\/report$/, () => reportFixture],
  [/^\/models$/, () => modelsFixture],
  [/^\/models\/[^/]+\/checks$/, () => verification],
  [/^\/models\/[^/]+\/comparison$/, () => comparisonFixture],
  [/^\/cycles$/, (query) => lists[query.get('list') ?? 'calls']],
  [/^\/cycles\/\w+$/, () => storedFixture],
]

/** JSON, or the bytes of a JPEG. `path`: what follows `/api`. Undefined: it has no fixture. */
export function fixtureOf(path: string, query: URLSearchParams): unknown {
  return responses.find(([pattern]) => pattern.test(path))?.[1](query)
}
