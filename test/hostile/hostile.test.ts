/**
 * A short run of all attacks and of the fuzzing: no rule is violated. `npm run test:hostile` also checks latencies.
 */
import { expect, onTestFinished, test } from 'vitest'
import { fuzzHttp } from './fuzz.js'
import { fuzzImages } from './image-fuzz.js'
import { runAttacks } from './attacks.js'
import { ServerProcess } from '../harness/server.js'

test('hostile clients do not disturb others, smuggle requests, lose data or leak descriptors', async () => {
  const size = { slow: 60, slowSecondsMax: 25, aborted: 100, endless: 4, pipelines: 2, pipelined: 100 }
  const { violations } = await runAttacks(
    { ...size, wrongKeys: 80, secondsMin: 0, heavy: false },
    () => undefined,
  )
  expect(violations).toEqual([])
  // Slow connections take up to 25 s, and ten other attacks follow.
}, 180_000)

test('mutated requests get a response that the contract allows, and never 500', async () => {
  const server = await new ServerProcess({}, { preloads: ['loopDelay'] }).start()
  onTestFinished(() => server.dispose())
  await fuzzHttp(server, { seconds: 5, runs: 40 })
  expect(server.log).not.toMatch(/"status":500|"level":50/)
})

test('mutated JPEGs are accepted or refused as in the contract, never with 500', async () => {
  const server = await new ServerProcess({}, { preloads: ['loopDelay'] }).start()
  onTestFinished(() => server.dispose())
  const { violations, statuses } = await fuzzImages(server, 120, 1)
  expect(violations).toEqual([])
  // The mutations are small, so some of the images are still valid.
  expect(statuses.get(201)).toBeGreaterThan(10)
  expect(statuses.get(400)).toBeGreaterThan(10)
  expect(server.log).not.toMatch(/"status":500|"level":50/)
})
