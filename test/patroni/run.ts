/**
 * `npm run test:patroni`: each fault once, on a real Patroni cluster, service processes and HAProxy with the files of deploy/.
 * Prints each round with the seconds until calls were served again; exits with 1 if a rule is violated. PATRONI_FAULT runs only
 * the faults whose name contains one of its parts, separated by commas; PATRONI_ROUNDS repeats them, PATRONI_SEED repeats the
 * choices of a run. run.sh starts this in a network, mounts and process ids of its own.
 */
import { join } from 'node:path'
import { Load } from '../crash/load.js'
import { EnvironmentRun, wordsOf } from '../failover/environment-run.js'
import { outageText } from '../failover/failover.js'
import { Random } from '../harness/rng.js'
import { cycleMs } from '../helpers/bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { projectDir } from '../helpers/project.js'
import { faults } from './faults.js'
import { Site } from './site.js'

const seed = Number(process.env['PATRONI_SEED'] ?? Date.now() % 1_000_000)
const rounds = Number(process.env['PATRONI_ROUNDS'] ?? 1)
const patterns = (process.env['PATRONI_FAULT'] ?? '').split(',')
const chosen = faults.filter(({ name }) => patterns.some((pattern) => name.includes(pattern)))
const logsDir = join(projectDir, 'build/patroni-logs')
const startedAt = performance.now()
console.log(`${rounds * chosen.length} rounds, seed ${seed}`)

const counts = { cycles: 0, attempts: 0, images: 0, outcomes: 0, weights: 0 }
const violations = await runFaults()
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', '),
)
for (const violation of violations) console.log(`VIOLATION ${violation}`)
const result = violations.length === 0 ? 'no violations' : `${violations.length} violations`
console.log(`${result}, ${(Number(secondsSince(startedAt)) / 60).toFixed(1)} minutes`)
process.exit(violations.length === 0 ? 0 : 1)

/** Resolves with what is wrong. */
async function runFaults(): Promise<readonly string[]> {
  const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
  const site = await Site.start(cycleMs(0))
  console.log(`the site serves after ${secondsSince(startedAt)} s`)
  const usable = chosen.filter(({ name, skipReason }) => {
    const reason = skipReason?.(site) ?? null
    if (reason !== null) console.log(`skipped: ${name}: ${reason}`)
    return reason === null
  })
  const run = new EnvironmentRun(site, new Load(seed, jpegs), new Random(seed))
  run.start()
  const found: string[] = []
  try {
    for (const fault of Array.from({ length: rounds }, () => usable).flat()) {
      const roundAt = performance.now()
      const { outages, gapMs, violations } = await run.round(fault)
      const figures = [`refused for ${(gapMs / 1000).toFixed(1)} s`, ...outages.map(outageText)]
      console.log(`${fault.name}: ${figures.join(', ')} (round of ${secondsSince(roundAt)} s)`)
      found.push(...violations.map((each) => `${fault.name}: ${each}`))
      if (violations.length > 0) break
    }
    if (found.length === 0) await site.verifyExport()
  } catch (error) {
    found.push(wordsOf(error))
  } finally {
    await run.end()
    run.count(counts)
    if (found.length > 0) {
      console.log(site.logs())
      site.saveLogs(logsDir)
    }
    await site.dispose()
  }
  return found
}

function secondsSince(ms: number): string {
  return ((performance.now() - ms) / 1000).toFixed(1)
}
