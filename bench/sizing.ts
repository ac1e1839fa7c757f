/**
 * Disk, memory and processor time of an environment by the number of its pending posts: `npm run bench:sizing`. Sends cycles to
 * a server with the shipped models, reads the sizes of the databases and the use of its processes, and multiplies them by the
 * cycles that retention keeps. docs/operating.md has the result.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { open } from 'lmdb'
import { childrenOf } from '../test/crash/processes.js'
import { parseResponse } from './check.js'
import { Client, expectStatus } from './client.js'
import { currentConditions, projectDir } from './project.js'
import { ServerUnderTest } from './server-under-test.js'
import { rampCycleCount, worldCycles } from './world.js'

export interface SizingFigures {
  /** Of the request and the response of a cycle on disk, which are kept for 14 days. */
  readonly bodiesBytes: number
  /** Of its record, which is kept for 90. */
  readonly recordBytes: number
  /** Of the service and its model process, pages that they share divided among them. */
  readonly memoryMib: number
  /** Of all processes of the service, for one cycle. */
  readonly cpuMs: number
}

const cyclesPerDay = 288
const warmUpCycles = 20
/** demo-1: a trained model, whose scores change little from cycle to cycle. */
const model = 'demo-1'

/** A pool of `pending` posts that stay for a day, each with a reading and a snapshot in each of `cycleCount` cycles. */
export async function measureSizing(pending: number, cycleCount: number): Promise<SizingFigures> {
  const turnover = Math.max(1, Math.round(pending / cyclesPerDay))
  const world = worldCycles({ pending, turnover, snapshots: true, bodyChars: 600 })
  const server = new ServerUnderTest()
  const modelsDir = join(server.scratchDir, 'models')
  mkdirSync(modelsDir)
  cpSync(join(projectDir, 'models', model), join(modelsDir, model), { recursive: true })
  writeFileSync(join(modelsDir, 'ACTIVE'), `${model}\n`)
  try {
    // On a busy machine the check of the latency would refuse the model.
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_MODEL_LATENCY_MS_MAX: '60000' })
    const client = new Client(server)
    await untilServing(client)
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const next = world.next().value
        const reply = await client.send({ method: 'POST', path: '/v1/cycles', body: next.request })
        parseResponse(next, expectStatus(reply, 200, `POST of cycle ${next.cycleId}`))
      }
    }
    const firstCount = rampCycleCount + warmUpCycles
    await send(firstCount)
    const pids = [server.pid, ...childrenOf(server.pid).map((child) => child.pid)]
    const cpuMsBefore = cpuMsOf(pids)
    await send(cycleCount)
    const cpuMs = (cpuMsOf(pids) - cpuMsBefore) / cycleCount
    const memoryMib = memoryMibOf(pids)
    client.close()
    await server.stop()
    return { ...diskOf(join(server.scratchDir, 'data/understudy.mdb'), firstCount), memoryMib, cpuMs }
  } finally {
    await server.dispose()
  }
}

/** Resolves when the model serves. */
async function untilServing(client: Client): Promise<void> {
  for (let attempt = 0; attempt < 3000; attempt++) {
    const { body } = await client.send({ method: 'GET', path: '/v1/health' })
    if ((JSON.parse(body.toString()) as { model_version: string }).model_version === model) return
    await sleep(20)
  }
  throw new Error(`${model} does not serve`)
}

/** Mean bytes on disk of the records of a cycle, of the cycles from position `first` on. */
function diskOf(file: string, first: number): Pick<SizingFigures, 'bodiesBytes' | 'recordBytes'> {
  const root = open({ path: file, readOnly: true, noSubdir: true, maxDbs: 32 })
  const { pageSize } = root.getStats() as { pageSize: number }
  const meanOf = (name: string): number => {
    const database = root.openDB<Buffer, number>({ name, encoding: 'binary', keyEncoding: 'uint32' })
    const sizes = [...database.getRange({ start: first + 1 })].map(({ value }) =>
      onDisk(value.length, pageSize),
    )
    return sizes.reduce((sum, size) => sum + size, 0) / sizes.length
  }
  const bodiesBytes = meanOf('requests') + meanOf('responses')
  const recordBytes = meanOf('cycles') + meanOf('cycle_columns')
  void root.close()
  return { bodiesBytes, recordBytes }
}

/** LMDB puts a value of more than half a page on pages of its own, with a header of 16 bytes. */
function onDisk(bytes: number, pageSize: number): number {
  return bytes > pageSize / 2 ? Math.ceil((bytes + 16) / pageSize) * pageSize : bytes + 24
}

/** Proportional set size. */
function memoryMibOf(pids: readonly number[]): number {
  return pids
    .map((pid) => Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]))
    .reduce((sum, kib) => sum + kib / 1024, 0)
}

/** User and system time. */
function cpuMsOf(pids: readonly number[]): number {
  return pids
    .map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [])
    .reduce((sum, fields) => sum + (Number(fields[11]) + Number(fields[12])) * 10, 0)
}

/** The disk of 14 days of requests and responses and 90 days of records, in GB. */
export function diskGb({ bodiesBytes, recordBytes }: SizingFigures): number {
  return (cyclesPerDay * (14 * bodiesBytes + 90 * recordBytes)) / 1e9
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { cycles: { type: 'string', default: '200' } } })
  const { commit, machine } = currentConditions()
  console.log(`${values.cycles} cycles of each size, ${commit}, ${machine}`)
  for (const pending of [600, 2200, 5000]) {
    const figures = await measureSizing(pending, Number(values.cycles))
    const { bodiesBytes, recordBytes, memoryMib, cpuMs } = figures
    console.log(
      `${pending} posts: request and response ${(bodiesBytes / 1000).toFixed(1)} kB, record ${(recordBytes / 1000).toFixed(1)} kB, ` +
        `disk ${diskGb(figures).toFixed(2)} GB, memory ${memoryMib.toFixed(0)} MiB, processor ${cpuMs.toFixed(0)} ms a cycle`,
    )
  }
}
