/**
 * Many environments on one machine: `npm run bench:environments` starts a process for each of fifty environments with 600
 * pending posts, all on one journal, and sends each a cycle every five minutes, evenly spread. Prints memory per environment
 * and the times of the cycles. The target is a p99 under 300 ms.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { childrenOf } from '../test/crash/processes.js'
import { parseResponse } from './check.js'
import { Client, expectStatus } from './client.js'
import { withJournal } from './postgres.js'
import { currentConditions } from './project.js'
import { cycleScenarios, scaledShape } from './scenarios.js'
import { ServerUnderTest } from './server-under-test.js'
import { summarize, type LatencySummary } from './statistics.js'
import { rampCycleCount, worldCycles, type WorldCycle } from './world.js'

export interface EnvironmentsOptions {
  readonly environments: number
  /** Of one environment from cycle to cycle. */
  readonly periodS: number
  /** Measured cycles of each environment. */
  readonly rounds: number
  readonly scale: number
}

export interface EnvironmentsFigures {
  readonly latencyMs: LatencySummary
  /** Of a process and its children, pages that they share divided among them; without PostgreSQL. */
  readonly mibPerEnvironment: number
  /** Of all processes and PostgreSQL, as a share of one core. */
  readonly cpuShare: number
}

interface Environment {
  readonly server: ServerUnderTest
  readonly client: Client
  readonly world: Generator<WorldCycle, never>
}

/** A cycle; `stages` is its Server-Timing header. */
interface Sample {
  readonly tookMs: number
  readonly stages: string
}

const warmUpCycles = 2
const slowestCount = 5

export async function measureEnvironments(
  { environments: count, periodS, rounds, scale }: EnvironmentsOptions,
  print: (text: string) => void,
): Promise<EnvironmentsFigures> {
  const shape = scaledShape(cycleScenarios.typical.shape, scale)
  const names = Array.from({ length: count }, (_, number) => `environment-${number}`)
  return withJournal(names, async ({ url, settle }) => {
    const environments: Environment[] = []
    try {
      for (let number = 0; number < count; number++) {
        const env = {
          UNDERSTUDY_JOURNAL: url,
          UNDERSTUDY_ENVIRONMENT: `environment-${number}`,
          UNDERSTUDY_ADMIN_PORT: 'off',
        }
        const server = new ServerUnderTest({ env })
        const environment = { server, client: new Client(server), world: worldCycles(shape, number + 1) }
        environments.push(environment)
        await server.start()
        for (let i = 0; i < rampCycleCount + warmUpCycles; i++) await cycle(environment)
        if ((number + 1) % 10 === 0) print(`${number + 1} environments are filled`)
      }
      settle()
      const samples: Sample[] = []
      const before = cpuSeconds()
      const startedAt = performance.now()
      const stepMs = (periodS * 1000) / count
      for (let i = 0; i < rounds * count; i++) {
        await sleep(Math.max(0, startedAt + i * stepMs - performance.now()))
        samples.push(await cycle(environments[i % count]!))
      }
      const elapsedS = (performance.now() - startedAt) / 1000
      const memory = environments.map(({ server }) => memoryMib(server.pid))
      const slowest = samples.toSorted((a, b) => b.tookMs - a.tookMs).slice(0, slowestCount)
      for (const { tookMs, stages } of slowest) print(`slowest: ${tookMs.toFixed(0)} ms, ${stages}`)
      return {
        latencyMs: summarize(samples.map(({ tookMs }) => tookMs)),
        mibPerEnvironment: memory.reduce((sum, mib) => sum + mib, 0) / count,
        cpuShare: (cpuSeconds() - before) / elapsedS,
      }
    } finally {
      for (const { client } of environments) client.close()
      await Promise.all(environments.map(({ server }) => server.dispose()))
    }
  })
}

/** Sends the next cycle, and checks the response. */
async function cycle({ client, world }: Environment): Promise<Sample> {
  const next = world.next().value
  const call = { method: 'POST', path: '/v1/cycles?timing', body: next.request } as const
  let reply = await client.send(call)
  // A new environment has no owner for a moment.
  while (reply.status === 503) {
    await sleep(100)
    reply = await client.send(call)
  }
  parseResponse(next, expectStatus(reply, 200, `POST of cycle ${next.cycleId}`))
  return { tookMs: reply.tookMs, stages: String(reply.headers['server-timing']) }
}

/** Proportional set size of a process and its children. */
function memoryMib(pid: number): number {
  return [pid, ...childrenOf(pid).map((child) => child.pid)]
    .map((each) => Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'))?.[1]))
    .reduce((sum, kib) => sum + kib / 1024, 0)
}

/** Of the machine since its start: user, nice and system. */
function cpuSeconds(): number {
  const [, user, nice, system] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
    .split(/ +/)
    .map(Number)
  return ((user ?? 0) + (nice ?? 0) + (system ?? 0)) / 100
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      environments: { type: 'string', default: '50' },
      period: { type: 'string', default: '300' },
      rounds: { type: 'string', default: '2' },
    },
  })
  const options = {
    environments: Number(values.environments),
    periodS: Number(values.period),
    rounds: Number(values.rounds),
    scale: 1,
  }
  const { commit, machine } = currentConditions()
  console.log(
    `${options.environments} environments, a cycle each every ${options.periodS} s, ${commit}, ${machine}`,
  )
  const figures = await measureEnvironments(options, (text) => console.log(text))
  const { p50, p99, max } = figures.latencyMs
  console.log(
    `cycle p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms; ` +
      `${figures.mibPerEnvironment.toFixed(0)} MiB per environment; ${(figures.cpuShare * 100).toFixed(0)} % of a core`,
  )
  process.exitCode = p99 < 300 ? 0 : 1
}
