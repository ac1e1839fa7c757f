/**
 * `npm run test:hostile`: three times the cycles and images that the server can process. Queues stay bounded, requests
 * beyond them get an early 503 with a Retry-After that suffices, goodput stays high, the server recovers within a second,
 * and reads are served. Server and client have one core each. Prints figures; exits with 1 if a rule is violated.
 */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { childrenOf } from '../harness/proc.js'
import { sendUntilAccepted, sendAtRate } from './retrying-clients.js'
import { quantile } from './load.js'
import { overload, type OverloadFigures } from './overload.js'
import { RawClient, type Reply } from './raw-client.js'
import { cycleIdOfNumber, cycleTraffic, imageTraffic, type Traffic } from './traffic.js'
import { ServerProcess } from '../harness/server.js'

const size = {
  rounds: Number(process.env['OVERLOAD_ROUNDS'] ?? 11),
  peakSeconds: 1.5,
  overloadSeconds: 2.5,
  factor: 3,
}
const pendingCount = 1000
/** Clients that respect Retry-After: their rate as a share of the peak, and the duration of the phase. */
const retrying = { factor: 1.5, seconds: 4, attemptsMax: 10 }
const goodputMin = 0.8
const recoveryMsMax = 1000
const readMsMax = 250

const violations: string[] = []
const server = await new ServerProcess().start()
pin(server.pid ?? 0)
try {
  const cycles = cycleTraffic(server.key, pendingCount)
  const reads = ['/v1/health', `/v1/scores/${cycleIdOfNumber(0)}`]
  for (const traffic of [cycles, await imageTraffic(server.key)]) {
    const figures = await overload(server, traffic, size, reads)
    checkRules(figures)
    await checkRetries(
      traffic,
      quantile(
        figures.rounds.map(({ peak }) => peak),
        0.5,
      ),
      figures.sentCount,
    )
  }
} finally {
  await server.dispose()
}
for (const violation of violations) console.log(`VIOLATION ${violation}`)
console.log(violations.length === 0 ? 'no violations' : `${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1

/** Pins server and client to different cores, so that they do not compete for one. */
function pin(server: number): void {
  const [first, last] = ['0', String(availableParallelism() - 1)]
  const pids = [server, ...childrenOf(server).map(({ pid }) => pid)].map(
    (pid) => [String(pid), first] as const,
  )
  for (const [pid, core] of [...pids, [String(process.pid), last] as const]) {
    const { status } = spawnSync('taskset', ['-a', '-c', '-p', core, pid])
    if (status !== 0)
      console.log(`warning: process ${pid} is not pinned to a core, so client and server compete`)
  }
}

function checkRules({
  name,
  rounds,
  accepted,
  refused,
  others,
  reads,
  connections,
  rssMib,
}: OverloadFigures): void {
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
      `accepted after ${times(accepted)}; ${refused.length} refused after ${times(refused)}; ` +
      `Retry-After ${retryAfters(refused)}; recovered after ${recoveredMs.toFixed(0)} ms, at worst ${recoveredMsWorst.toFixed(0)}; ` +
      `${reads.length} reads after ${times(reads)}; ${connections} connections; ` +
      `memory ${rssMib.before.toFixed(0)} MiB before, ${rssMib.after.toFixed(0)} after`,
  )
  const violationIf = (broken: boolean, what: string): void => {
    if (broken) violations.push(`${name}: ${what}`)
  }
  violationIf(share < goodputMin, `goodput ${percent(share)} of the peak`)
  violationIf(
    others.length > 0,
    `${others.length} responses with another status than success or 503: ${[...new Set(others.map(({ status }) => status))].join(' ')}`,
  )
  violationIf(refused.length === 0, 'nothing was refused')
  violationIf(
    refused.some(({ retryAfterS }) => retryAfterS === null),
    'a 503 without Retry-After',
  )
  violationIf(recoveredMsWorst > recoveryMsMax, `recovered after ${recoveredMsWorst.toFixed(0)} ms`)
  violationIf(
    reads.some(({ status }) => status !== 200),
    'a read was refused',
  )
  const readMs = quantile(
    reads.map(({ tookMs }) => tookMs),
    0.99,
  )
  violationIf(readMs > readMsMax, `p99 of reads ${readMs.toFixed(0)} ms`)
}

async function checkRetries(traffic: Traffic, peak: number, firstNumber: number): Promise<void> {
  const client = new RawClient(server.port)
  let next = firstNumber
  try {
    const { factor, seconds } = retrying
    const tries = await sendAtRate(peak * factor, seconds, () =>
      sendUntilAccepted(client, traffic.request(next++)),
    )
    const part = (count: number): string =>
      percent(tries.filter((other) => other <= count).length / tries.length)
    const most = Math.max(...tries)
    console.log(
      `${traffic.name}: ${tries.length} calls at ${factor} times the peak that respect Retry-After: accepted immediately ${part(1)}, ` +
        `after two tries ${part(2)}, after three ${part(3)}, all after ${most}`,
    )
    if (most > retrying.attemptsMax)
      violations.push(`${traffic.name}: ${most} tries, although the client respected Retry-After`)
  } finally {
    client.destroy()
  }
}

function times(replies: readonly Reply[]): string {
  const ms = replies.map(({ tookMs }) => tookMs)
  return `p50 ${quantile(ms, 0.5).toFixed(0)} p99 ${quantile(ms, 0.99).toFixed(0)} ms`
}

function retryAfters(replies: readonly Reply[]): string {
  const seconds = replies.map(({ retryAfterS }) => retryAfterS ?? 0)
  return `${quantile(seconds, 0)} to ${quantile(seconds, 1)} s, median ${quantile(seconds, 0.5)}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
