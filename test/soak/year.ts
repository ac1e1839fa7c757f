/**
 * A server over a year: simulated days of the documented client at full speed, with default retention. At some days it is
 * measured: its resources, and how long operators wait for it. At the end the machine is lost: the last backup is
 * restored into an empty directory, and the cycles after it are sent again, as docs/operating.md says.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mebibyte } from '../../src/base/index.js'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { executable } from '../harness/server.js'
import { SoakClient } from './client.js'
import type { KeptDays } from './expected-records.js'
import { recordRules, type Verdict } from './rules.js'
import { takeSample, type Sample } from './samples.js'
import { logRule, startAtMs, verify } from './soak.js'
import { SoakTarget } from './target.js'
import { growthRules } from './growth-rules.js'

export interface YearPlan {
  readonly seed: number
  readonly model: string
  /**
   * In the first third of each day it is the shadow of the model, in the second it serves and the model is its shadow; in the last
   * one the model serves alone. Absent: it always does.
   */
  readonly otherModel?: string
  readonly hasPoisonedMemory?: boolean
  readonly postsPerDay: number
  readonly imageShare: number
  readonly keptDays: KeptDays
  readonly days: number
  /** The run ends after the first sample after this time. */
  readonly minutesMax: number
  /** Of `Checkpoint`, besides the last day. */
  readonly checkpointDays: readonly number[]
  /** Days between two samples; `days` and `checkpointDays` are multiples of it. */
  readonly sampleDays: number
}

/** The server on one day. Times are in seconds. */
export interface Checkpoint extends Sample {
  readonly day: number
  readonly pending: number
  /** From the start of the process until it listens. */
  readonly startS: number
  readonly reportS: number
  readonly verifyS: number
  readonly backupS: number
  readonly backupMib: number
}

/** The last backup on an empty machine. */
export interface Restoration {
  readonly restoreS: number
  readonly startS: number
  readonly cyclesSentAgain: number
}

export interface Year {
  readonly checkpoints: readonly Checkpoint[]
  readonly restoration: Restoration
  readonly verdicts: readonly Verdict[]
  readonly counts: Readonly<Record<string, number>>
}

const cyclesPerDay = 288
/** Cycles after the last backup: an hour. */
const cyclesAfterBackup = 12
/** Expired responses that are looked up at the end: a week, whose removal is the most recent. */
const goneMax = 7 * cyclesPerDay
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1000

interface Cycle {
  readonly request: CycleRequest
  readonly response: CycleResponse
}

export async function year(plan: YearPlan, onSample: (day: number, sample: Sample) => void): Promise<Year> {
  const endsAt = performance.now() + plan.minutesMax * 60_000
  const scratch = mkdtempSync(join(tmpdir(), 'understudy-year-'))
  const { model, otherModel, hasPoisonedMemory = false } = plan
  const otherModels = otherModel === undefined ? [] : [otherModel]
  const target = await SoakTarget.start(startAtMs, plan.keptDays, { model, otherModels, hasPoisonedMemory })
  const client = await SoakClient.open(target, plan, startAtMs)
  const checkpoints: Checkpoint[] = []
  const verdicts: Verdict[] = []
  try {
    for (let day = plan.sampleDays; ; day += plan.sampleDays) {
      for (let cycle = 0; cycle < plan.sampleDays * cyclesPerDay; cycle++) {
        if (otherModel !== undefined) await swap(target, cycle % cyclesPerDay, [model, otherModel])
        await client.step()
      }
      const sample = await takeSample(target, client)
      onSample(day, sample)
      const rule = logRule(target.server.log)
      if (!rule.holds) verdicts.push(rule)
      // A string of all lines of a year would be too long.
      target.server.log = ''
      const isLast = day >= plan.days || performance.now() > endsAt
      if (isLast || plan.checkpointDays.includes(day))
        checkpoints.push(await measure(target, client, { scratch, day, sample, verdicts }))
      if (isLast) break
    }
    // Past the cycle with new weights, which the client would have to send again as well.
    for (let cycle = 0; cycle < cyclesAfterBackup; cycle++) await client.step()
    const backup = join(scratch, 'last')
    understudy('backup', backup, '--data-dir', target.server.dataDir)
    const after: Cycle[] = []
    while (after.length < cyclesAfterBackup) {
      await client.step()
      if (client.lastCycle !== null) after.push(client.lastCycle)
    }
    const { kept, gone } = await client.rereadAll(goneMax)
    const words = `${kept} retained responses are unchanged, ${gone} expired ones are deleted`
    verdicts.push({ holds: true, words })
    const weights = client.totals.weights + 1
    verdicts.push(...recordRules(verify(target.server.dataDir), client.held, weights))
    verdicts.push(...growthRules(checkpoints, plan.keptDays))
    await target.server.kill('SIGKILL')
    const restoration = await restore(target, { backup, directory: join(scratch, 'empty'), after, verdicts })
    return { checkpoints, restoration, verdicts, counts: client.counts }
  } catch (error) {
    throw new Error(
      `${client.totals.cycles} cycles; the server's last lines: ${target.server.log.slice(-4000)}`,
      {
        cause: error,
      },
    )
  } finally {
    await target.dispose()
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** As `YearPlan.otherModel` says. */
async function swap(target: SoakTarget, cycleOfDay: number, [model, other]: [string, string]): Promise<void> {
  if (cycleOfDay === 0) await target.serve(model, other)
  else if (cycleOfDay === cyclesPerDay / 3) await target.serve(other, model)
  else if (cycleOfDay === (2 * cyclesPerDay) / 3) await target.serve(model, null)
}

interface Place {
  readonly scratch: string
  readonly day: number
  readonly sample: Sample
  readonly verdicts: Verdict[]
}

/** What operators wait for, on the data of the running server; then a restart. */
async function measure(
  target: SoakTarget,
  client: SoakClient,
  { scratch, day, sample, verdicts }: Place,
): Promise<Checkpoint> {
  const { server } = target
  const directory = ['--data-dir', server.dataDir]
  const backup = join(scratch, 'backup')
  const reportS = understudy('report', '--json', ...directory)
  const verifyAt = performance.now()
  const { sound, problems } = verify(server.dataDir)
  const verifyS = secondsSince(verifyAt)
  verdicts.push({
    holds: sound,
    words: `verify on day ${day}: ${problems.join('; ') || 'no problems found'}`,
  })
  const backupS = understudy('backup', backup, ...directory)
  const backupMib = statSync(join(backup, 'understudy.mdb')).size / mebibyte
  rmSync(backup, { recursive: true })
  await client.disconnect()
  await server.kill('SIGTERM')
  const startAt = performance.now()
  await server.start()
  const startS = secondsSince(startAt)
  const pending = client.held.pending().length
  return { ...sample, day, pending, startS, reportS, verifyS, backupS, backupMib }
}

interface Loss {
  readonly backup: string
  readonly directory: string
  readonly after: readonly Cycle[]
  readonly verdicts: Verdict[]
}

/** Restores a backup into an empty directory, starts a server on it, and sends the cycles after the backup again. */
async function restore(
  target: SoakTarget,
  { backup, directory, after, verdicts }: Loss,
): Promise<Restoration> {
  mkdirSync(directory)
  const restoreS = understudy('restore', backup, '--data-dir', directory)
  const server = target.serverOn(directory)
  try {
    const startAt = performance.now()
    await server.start()
    const startS = secondsSince(startAt)
    const different: string[] = []
    for (const { request, response } of after) {
      server.setClock(Date.parse(response.received_at))
      const { status, json } = await server.postCycle(request)
      const difference =
        status === 200 ? differenceOf(resultsOf(response), resultsOf(json)) : `status ${status}`
      if (difference !== null) different.push(`: ${request.cycle_id} ${difference}`)
    }
    verdicts.push({
      holds: different.length === 0,
      words: `${after.length} cycles sent again after the restore; ${different.length} got other results than before${different[0] ?? ''}`,
    })
    return { restoreS, startS, cyclesSentAgain: after.length }
  } finally {
    await server.dispose()
  }
}

/** Without the times, which differ. */
function resultsOf(response: unknown): string[] {
  const { counts, results } = response as CycleResponse
  return [counts, ...results].map((part) => JSON.stringify(part))
}

/** The first part that differs. */
function differenceOf(before: readonly string[], after: readonly string[]): string | null {
  const at = before.findIndex((part, index) => part !== after[index])
  if (at < 0) return before.length === after.length ? null : `${after.length} rows`
  return `${before[at]} before, ${after[at] ?? 'nothing'} now`
}

/** Runs a command, which must succeed. Returns how many seconds it took. */
function understudy(...args: string[]): number {
  const startedAt = performance.now()
  const options = { encoding: 'utf8', maxBuffer: 256 * mebibyte } as const
  const { status, stderr } = spawnSync(executable, args, options)
  if (status !== 0) throw new Error(`understudy ${args.join(' ')}: ${stderr}`)
  return secondsSince(startedAt)
}
