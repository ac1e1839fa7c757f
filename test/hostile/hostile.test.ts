/**
 * The siege and the fuzz in small: what is promised holds, whatever is thrown at it. Times are judged by
 * `npm run test:hostile`.
 */
import { expect, onTestFinished, test } from 'vitest'
import { fuzzHttp } from './fuzz.js'
import { fuzzPictures } from './picture-fuzz.js'
import { besiege } from './siege.js'
import { Target } from './target.js'

test('whatever hostile clients send: others are served, nothing is smuggled, lost or left open', async () => {
  const size = { slow: 60, slowSecondsMax: 25, aborted: 100, endless: 4, pipelines: 2, pipelined: 100 }
  const { breaches } = await besiege({ ...size, wrongKeys: 80, secondsMin: 0, heavy: false }, () => undefined)
  expect(breaches).toEqual([])
  // The slow alone take up to 25 s, and ten other attacks come after them.
}, 180_000)

test('requests that are nearly right get an answer of the contract, and never 500', async () => {
  const target = await new Target().start()
  onTestFinished(() => target.dispose())
  await fuzzHttp(target, { seconds: 5, runs: 40 })
  expect(target.server.log).not.toMatch(/"status":500|"level":50/)
})

test('mutated JPEGs are accepted or refused as in the contract, never with 500', async () => {
  const target = await new Target().start()
  onTestFinished(() => target.dispose())
  const { breaches, statuses } = await fuzzPictures(target, 120, 1)
  expect(breaches).toEqual([])
  // They are near enough to pictures that some of them are taken.
  expect(statuses.get(201)).toBeGreaterThan(10)
  expect(statuses.get(400)).toBeGreaterThan(10)
  expect(target.server.log).not.toMatch(/"status":500|"level":50/)
})
