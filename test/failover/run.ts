/**
 * `npm run test:failover`: FAILOVER_ROUNDS rounds of faults (200) on three processes, three PostgreSQL servers and HAProxy; then
 * patroni.sh starts this in a network of its own, for each fault once on a Patroni cluster with the files of deploy/. Prints each
 * round and the times until a process was ready again; exits with 1 if a rule is violated. FAILOVER_SEED repeats the choices of a
 * run; FAILOVER_FAULT runs only the faults whose name contains one of its parts, separated by commas.
 */
import { findPostgres } from '../helpers/postgres.js'
import { failover, type FailoverFigures, type FailoverSite } from './failover.js'
import { faults, takeoverMsMax, type Fault } from './faults.js'
import { haproxyMissing } from './haproxy.js'
import type { Outage } from './history.js'
import { Site } from './site.js'

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 1_000_000)
const patterns = (process.env['FAILOVER_FAULT'] ?? '').split(',')
const isChosen = ({ name }: { readonly name: string }): boolean =>
  patterns.some((pattern) => name.includes(pattern))
/** Of the p99 of graceful stops on this machine. */
const stopSMax = 3
const startedAt = performance.now()
const print = (line: string): void => console.log(line)

const isPatroni = process.env['FAILOVER_SITE'] === 'patroni'
const { outages, counts, violations: found } = isPatroni ? await onPatroni() : await onThisMachine()
const violations = [...found]
print(
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', '),
)
const names = [...new Set(outages.map(({ fault }) => fault))]
for (const name of names) printTimes(name, (outage) => outage.fault === name)
const stopsP99 = printTimes('graceful stops', ({ limitMs }) => limitMs < takeoverMsMax)
printTimes('all others', ({ limitMs }) => limitMs >= takeoverMsMax)
if (!isPatroni && stopsP99 !== null && stopsP99 > stopSMax)
  violations.push(
    `99 % of the graceful stops took up to ${stopsP99.toFixed(1)} s, and not less than ${stopSMax}`,
  )
for (const violation of violations) print(`VIOLATION ${violation}`)
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
print(`${violations.length === 0 ? 'no violations' : `${violations.length} violations`}, ${minutes} minutes`)
process.exit(violations.length === 0 ? 0 : 1)

function onThisMachine(): Promise<FailoverFigures> {
  const bin = findPostgres()
  if (bin === null || haproxyMissing) {
    print('needs PostgreSQL 15 or later and HAProxy: apt-get install postgresql haproxy libfaketime')
    process.exit(1)
  }
  const openSite = (): Promise<Site> => Site.start(bin, { isSynchronous: true, hasClocks: true })
  return run({ openSite, faults, rounds: 200 })
}

async function onPatroni(): Promise<FailoverFigures> {
  const { openSite, faults } = await import('./patroni/site.js')
  return run({ openSite, faults, isOrdered: true, roundsPerEnvironment: Infinity })
}

interface Lane<LaneSite extends FailoverSite> {
  readonly openSite: () => Promise<LaneSite>
  readonly faults: readonly Fault<LaneSite>[]
  /** Default: each fault once. */
  readonly rounds?: number
  readonly isOrdered?: boolean
  readonly roundsPerEnvironment?: number
}

function run<LaneSite extends FailoverSite>(lane: Lane<LaneSite>): Promise<FailoverFigures> {
  const chosen = lane.faults.filter(isChosen)
  const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? lane.rounds ?? chosen.length)
  print(`${rounds} rounds, seed ${seed}`)
  return failover({ ...lane, seed, rounds, faults: chosen, print })
}

/** Until a process was ready again. Returns the p99 in seconds. */
function printTimes(name: string, isMeant: (outage: Outage) => boolean): number | null {
  const seconds = outages
    .filter(isMeant)
    .flatMap(({ startedMs, readyMs }) => (readyMs === null ? [] : [(readyMs - startedMs) / 1000]))
    .sort((a, b) => a - b)
  if (seconds.length === 0) return null
  const at = (share: number): number => seconds[Math.ceil(share * seconds.length) - 1] ?? NaN
  const [p50, p99, max] = [at(0.5), at(0.99), at(1)].map((value) => value.toFixed(1))
  print(`${name}: ${seconds.length} times, ready after p50 ${p50} s, p99 ${p99} s, max ${max} s`)
  return at(0.99)
}
