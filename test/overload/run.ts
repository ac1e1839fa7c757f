/**
 * `npm run test:overload`: three times the cycles and pictures that the server can take. Queues stay bounded, what is too
 * much hears 503 early and truthfully, goodput holds, a second later all is as before, and who only reads is served.
 * Server and client get a core each, for both phases alike. Prints figures; ends with 1 where one of these is broken.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Target } from '../hostile/target.js'
import { callHeeding, heedingLoop } from './heeding.js'
import { quantile } from './load.js'
import { overload, type OverloadFigures } from './overload.js'
import { RawClient, type Answer } from './raw-client.js'
import { cycleIdOfNumber, cycleTraffic, pictureTraffic, type Traffic } from './traffic.js'

const size = {
  rounds: Number(process.env['OVERLOAD_ROUNDS'] ?? 11),
  peakSeconds: 1.5,
  overloadSeconds: 2.5,
  factor: 3,
}
const pendingCount = 1000
/** Of the peak, for so long: clients that come back when they are told to. */
const heeding = { factor: 1.5, seconds: 4, triesMax: 10 }
const goodputMin = 0.8
const recoveryMsMax = 1000
const readMsMax = 250

const breaches: string[] = []
const target = await new Target().start()
pin(target.server.pid ?? 0)
try {
  const cycles = cycleTraffic(target.server.key, pendingCount)
  const reads = ['/v1/health', `/v1/scores/${cycleIdOfNumber(0)}`]
  for (const traffic of [cycles, await pictureTraffic(target.server.key)]) {
    const figures = await overload(target, traffic, size, reads)
    judge(figures)
    await judgeHeeding(
      traffic,
      quantile(
        figures.rounds.map(({ peak }) => peak),
        0.5,
      ),
      figures.sentCount,
    )
  }
} finally {
  await target.dispose()
}
for (const breach of breaches) console.log(`BREACH ${breach}`)
console.log(breaches.length === 0 ? 'no breach' : `${breaches.length} breaches`)
process.exitCode = breaches.length === 0 ? 0 : 1

/** Server and client on cores of their own: else the load takes from the server what the client needs. */
function pin(server: number): void {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ')
  const [first, last] = ['0', String(availableParallelism() - 1)]
  const places = [server, ...children.filter((pid) => pid !== '')].map((pid) => [String(pid), first] as const)
  for (const [pid, core] of [...places, [String(process.pid), last] as const]) {
    const { status } = spawnSync('taskset', ['-a', '-c', '-p', core, pid])
    if (status !== 0) console.log(`! not pinned to a core: ${pid}; client and server share them`)
  }
}

function judge({ name, rounds, taken, refused, others, reads, connections, rssMib }: OverloadFigures): void {
  const shares = rounds.map(({ goodput, peak }) => goodput / peak)
  const share = quantile(shares, 0.5)
  const recoveredMs = quantile(
    rounds.map((round) => round.recoveredMs),
    0.5,
  )
  const recoveredMsWorst = Math.max(...rounds.map((round) => round.recoveredMs))
  for (const { peak, offered, goodput, recoveredMs: ms } of rounds) {
    console.log(
      `  ${name}: peak ${peak.toFixed(0)}/s, offered ${offered.toFixed(0)}/s, goodput ${goodput.toFixed(0)}/s ` +
        `(${percent(goodput / peak)}), recovered after ${ms.toFixed(0)} ms`,
    )
  }
  console.log(
    `${name}, ${rounds.length} rounds: goodput ${percent(share)} of the peak (${shares.map(percent).join(' ')}); ` +
      `taken after ${times(taken)}; ${refused.length} refused after ${times(refused)}; ` +
      `Retry-After ${retryAfters(refused)}; recovered after ${recoveredMs.toFixed(0)} ms, at worst ${recoveredMsWorst.toFixed(0)}; ` +
      `${reads.length} reads after ${times(reads)}; ${connections} connections; ` +
      `memory ${rssMib.before.toFixed(0)} MiB before, ${rssMib.after.toFixed(0)} after`,
  )
  const breach = (broken: boolean, what: string): void => {
    if (broken) breaches.push(`${name}: ${what}`)
  }
  breach(share < goodputMin, `goodput ${percent(share)} of the peak`)
  breach(
    others.length > 0,
    `${others.length} answers neither good nor 503: ${[...new Set(others.map(({ status }) => status))].join(' ')}`,
  )
  breach(refused.length === 0, 'nothing was refused')
  breach(
    refused.some(({ retryAfterS }) => retryAfterS === null),
    'a 503 without Retry-After',
  )
  breach(recoveredMsWorst > recoveryMsMax, `recovered after ${recoveredMsWorst.toFixed(0)} ms`)
  breach(
    reads.some(({ status }) => status !== 200),
    'a call that only reads was refused',
  )
  const readMs = quantile(
    reads.map(({ tookMs }) => tookMs),
    0.99,
  )
  breach(readMs > readMsMax, `calls that only read took ${readMs.toFixed(0)} ms at p99`)
}

async function judgeHeeding(traffic: Traffic, peak: number, firstNumber: number): Promise<void> {
  const client = new RawClient(target.port)
  let next = firstNumber
  try {
    const { factor, seconds } = heeding
    const tries = await heedingLoop(peak * factor, seconds, () =>
      callHeeding(client, traffic.request(next++)),
    )
    const part = (count: number): string =>
      percent(tries.filter((other) => other <= count).length / tries.length)
    const most = Math.max(...tries)
    console.log(
      `${traffic.name}: ${tries.length} calls at ${factor} times the peak that come back as told: taken at once ${part(1)}, ` +
        `after two tries ${part(2)}, after three ${part(3)}, all after ${most}`,
    )
    if (most > heeding.triesMax) breaches.push(`${traffic.name}: ${most} tries, although it waited as told`)
  } finally {
    client.destroy()
  }
}

function times(answers: readonly Answer[]): string {
  const ms = answers.map(({ tookMs }) => tookMs)
  return `p50 ${quantile(ms, 0.5).toFixed(0)} p99 ${quantile(ms, 0.99).toFixed(0)} ms`
}

function retryAfters(answers: readonly Answer[]): string {
  const seconds = answers.map(({ retryAfterS }) => retryAfterS ?? 0)
  return `${quantile(seconds, 0)} to ${quantile(seconds, 1)} s, median ${quantile(seconds, 0.5)}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
