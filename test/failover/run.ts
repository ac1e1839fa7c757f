/**
 * `npm run test:failover`: FAILOVER_ROUNDS rounds of faults (200) on three processes, three PostgreSQL servers and HAProxy.
 * Prints each round and the times until a process was ready again; exits with 1 if a rule is violated. FAILOVER_SEED repeats
 * the choices of a run; FAILOVER_FAULT runs only the faults whose name contains it.
 */
import { findPostgres } from '../helpers/postgres.js'
import { failover } from './failover.js'
import { faults, takeoverMsMax } from './faults.js'
import { haproxyMissing } from './haproxy.js'
import type { Outage } from './history.js'

const bin = findPostgres()
if (bin === null || haproxyMissing) {
  console.log('needs PostgreSQL 15 or later and HAProxy: apt-get install postgresql haproxy libfaketime')
  process.exit(1)
}
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 1_000_000)
const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? 200)
const pattern = process.env['FAILOVER_FAULT'] ?? ''
/** Of the p99 of graceful stops. */
const stopSMax = 3
const startedAt = performance.now()
console.log(`${rounds} rounds, seed ${seed}`)
const {
  violations: found,
  outages,
  counts,
} = await failover({
  bin,
  seed,
  rounds,
  hasClocks: true,
  print: (line: string) => console.log(line),
  faults: faults.filter(({ name }) => name.includes(pattern)),
})
const violations = [...found]
const counted = Object.entries(counts).map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
console.log(counted.join(', '))
const names = [...new Set(outages.map(({ fault }) => fault))]
for (const name of names) printTimes(name, (outage) => outage.fault === name)
const stopsP99 = printTimes('graceful stops', ({ limitMs }) => limitMs < takeoverMsMax)
printTimes('all others', ({ limitMs }) => limitMs >= takeoverMsMax)
if (stopsP99 !== null && stopsP99 > stopSMax)
  violations.push(
    `99 % of the graceful stops took up to ${stopsP99.toFixed(1)} s, and not less than ${stopSMax}`,
  )
for (const violation of violations) console.log(`VIOLATION ${violation}`)
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
console.log(
  `${violations.length === 0 ? 'no violations' : `${violations.length} violations`}, ${minutes} minutes`,
)
process.exitCode = violations.length === 0 ? 0 : 1

/** Until a process was ready again. Returns the p99 in seconds. */
function printTimes(name: string, isMeant: (outage: Outage) => boolean): number | null {
  const seconds = outages
    .filter(isMeant)
    .flatMap(({ startedMs, readyMs }) => (readyMs === null ? [] : [(readyMs - startedMs) / 1000]))
    .sort((a, b) => a - b)
  if (seconds.length === 0) return null
  const at = (share: number): number => seconds[Math.ceil(share * seconds.length) - 1] ?? NaN
  const [p50, p99, max] = [at(0.5), at(0.99), at(1)].map((value) => value.toFixed(1))
  console.log(`${name}: ${seconds.length} times, ready after p50 ${p50} s, p99 ${p99} s, max ${max} s`)
  return at(0.99)
}
