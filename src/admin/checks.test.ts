/** The checks of readiness: their states and their reasons. */
import { expect, test } from 'vitest'
import { HealthChecks } from './checks.js'
import { reasonsText } from '../contract/index.js'
import type { ServiceProblem } from '../cycle/index.js'
import { diskBytesFreeMin, type Store } from '../store/index.js'
import { DiskSpace, type ServerSources } from '../server/index.js'

test('the disk check fails if the disk does not respond', async () => {
  expect((await linesOf(checksOf([]))).at(-1)).toMatchObject({ check: 'disk', status: 'fail' })
})

test('the disk check warns below 2 GiB and fails below what the store needs, not at these sizes', async () => {
  const states: string[] = []
  for (const freeBytes of [2 * 2 ** 30, 2 * 2 ** 30 - 1, diskBytesFreeMin, diskBytesFreeMin - 1]) {
    const disk = new DiskSpace('', () => Promise.resolve({ freeBytes, fileBytes: 1 }))
    const { status, reason } = (await linesOf(checksOf([], undefined, { disk }))).at(-1)!
    states.push(`${status}: ${reason}`)
  }
  const free = 'MiB are free on the disk of the data directory'
  const least = Math.round(diskBytesFreeMin / 2 ** 20)
  expect(states).toEqual([
    ...[`ok: 2048 ${free}`, `warn: 2048 ${free}`, `warn: ${least} ${free}`, `fail: ${least} ${free}`],
  ])
})

test('the last cycle warns after more than 15 minutes, and has its age in seconds', async () => {
  const last = async (ageMs: number): Promise<object> => {
    const cycle = { cycleId: '20260302T1255', receivedAt: new Date(1e12 - ageMs).toISOString() }
    return (await linesOf(checksOf([], undefined, { clock: () => 1e12, lastCycle: () => cycle })))[3]!
  }
  const reason = (seconds: number): string => `cycle 20260302T1255 arrived ${seconds} s ago`
  const check = 'last_cycle'
  expect(await last(15 * 60_000)).toEqual({ check, status: 'ok', reason: reason(900) })
  expect(await last(15 * 60_000 + 1000)).toEqual({ check, status: 'warn', reason: reason(901) })
  // Received by a process whose clock is ahead.
  expect(await last(-5000)).toEqual({ check, status: 'ok', reason: reason(0) })
})

test('a version that could not be loaded is a warning while another one serves, even while it is tried again', async () => {
  const serving = { version: 'v1', role: 'active', state: 'serving' }
  for (const state of ['failed', 'loading']) {
    const lines = await linesOf(checksOf([serving, { version: 'v2', role: 'active', state }]))
    const [, model] = lines
    expect(model).toEqual({
      check: 'model',
      status: 'warn',
      reason: 'a model serves; v2 failed to load: no file',
    })
  }
  // It failed once, and serves now.
  expect((await linesOf(checksOf([{ ...serving, version: 'v2' }])))[1]).toMatchObject({ status: 'ok' })
  const shadow = { version: 's2', role: 'shadow', state: 'failed' }
  const reason = async (state: string): Promise<string | undefined> =>
    (await linesOf(checksOf([serving, { ...shadow, state }])))[1]?.reason
  expect(await reason('failed')).toBe('a model serves; s2 failed to load: no graph')
  expect(await reason('shadow')).toBe('a model serves')
})

test('a model that fails cycles is a warning, what stops the service is a failure, and a failure outweighs a warning', async () => {
  const warn = {
    check: 'model',
    severity: 'warn',
    reason: { code: 'model_fails', problem: 'v1 fails', cycles: 1 },
  } as const
  const fail = { check: 'model', severity: 'fail', reason: { code: 'no_model' } } as const
  const modelCheck = async (...problems: (typeof warn | typeof fail)[]) =>
    (await linesOf(checksOf([], undefined, { problems: () => problems })))[1]
  expect(await modelCheck()).toMatchObject({ status: 'ok', reason: 'a model serves' })
  expect(await modelCheck(warn)).toMatchObject({
    status: 'warn',
    reason: 'the model failed the last cycle: v1 fails',
  })
  expect(await modelCheck(fail)).toMatchObject({ status: 'fail', reason: 'no model is loaded' })
  expect(await modelCheck(warn, fail)).toMatchObject({
    status: 'fail',
    reason: 'the model failed the last cycle: v1 fails; no model is loaded',
  })
})

test('the storage check names the role and the entry of a process with a journal, and one that cannot be used fails a standby and warns the owner', async () => {
  const storage = async (problem: string | null, isSynchronous = true, role: Store['role'] = 'standby') => {
    const replication = { epoch: 3, entry: 812, problem, isSynchronous }
    const checks = checksOf([], { role, replication })
    expect((await checks.run(true))[2]).toEqual((await checks.run())[2])
    return (await linesOf(checks))[2]
  }
  const roleText = 'standby of the environment, epoch 3, entry 812'
  expect(await storage(null)).toEqual({ check: 'storage', status: 'ok', reason: roleText })
  const reason = `the journal cannot be used: connection refused; ${roleText}`
  expect(await storage('connection refused')).toEqual({ check: 'storage', status: 'fail', reason })
  expect(await storage('connection refused', true, 'owner')).toMatchObject({ status: 'warn' })
  const alone = `PostgreSQL has no synchronous standby: if its disk fails, acknowledged cycles are lost; ${roleText}`
  expect(await storage(null, false)).toEqual({ check: 'storage', status: 'warn', reason: alone })
})

test('storage that refuses writes fails the storage check of an owner, which names what the journal lacks', async () => {
  const refusing = { check: 'storage', severity: 'fail', reason: { code: 'storage_refuses' } } as const
  const reasonFor = async (problem: string | null) => {
    const replication = { epoch: 3, entry: 812, problem, isSynchronous: true }
    const checks = checksOf([], { role: 'owner', replication }, { problems: () => [refusing] })
    return (await linesOf(checks))[2]
  }
  expect(await reasonFor(null)).toMatchObject({ status: 'fail', reason: 'storage refuses writes' })
  expect(await reasonFor('a row is left')).toMatchObject({
    status: 'fail',
    reason:
      'storage refuses writes; the journal cannot be used: a row is left; owner of the environment, epoch 3, entry 812',
  })
})

test('cycles that were refused for the future are a warning with their number and the last one', async () => {
  const refused = { count: 1, last: { cycleId: '20260302T0900', aheadMs: 5230, at: 0 } }
  const clockOf = async (refusal: object | null) =>
    (await linesOf(checksOf([], undefined, { refused: () => refusal }))).filter(
      ({ check }) => check === 'clock',
    )
  const rest =
    'refused in the last hour because cycle_time is in the future, the last one 20260302T0900 by 5.2 s: ' +
    'the clocks of client and service differ'
  expect(await clockOf(refused)).toEqual([{ check: 'clock', status: 'warn', reason: `a cycle was ${rest}` }])
  expect(await clockOf({ ...refused, count: 3 })).toMatchObject([{ reason: `3 cycles were ${rest}` }])
  expect(await clockOf(null)).toEqual([])
})

/** Reasons as sentences. */
async function linesOf(checks: HealthChecks) {
  return (await checks.run()).map(({ check, status, reasons }) => ({
    check,
    status,
    reason: reasonsText(reasons),
  }))
}

test('a version that failed as a shadow has not failed as the active one', async () => {
  const modelOf = async (role: string): Promise<string | undefined> => {
    const checks = await checksOf([{ version: 's2', role, state: 'loading' }]).run()
    return checks.find(({ check }) => check === 'model')?.status
  }
  expect([await modelOf('active'), await modelOf('shadow')]).toEqual(['ok', 'warn'])
})

/** A service without problems, in which v2 and the shadow s2 could not be loaded. */
function checksOf(
  versions: readonly object[],
  store: Pick<Store, 'role' | 'replication'> = { role: 'owner', replication: null },
  {
    clock = (): number => 0,
    lastCycle = (): object | undefined => undefined,
    refused = (): object | null => null,
    problems = (): readonly ServiceProblem[] => [],
    disk = new DiskSpace('/nowhere'),
  } = {},
): HealthChecks {
  const ofDisk = (): ServiceProblem[] =>
    disk.problem === null ? [] : [{ check: 'disk', severity: 'fail', reason: disk.problem }]
  const cycles = { problems: () => [...problems(), ...ofDisk()], lastCycle, clocks: { refused } }
  const failures = [
    { version: 'v2', role: 'active', problem: 'no file', atMs: 0 },
    { version: 's2', role: 'shadow', problem: 'no graph', atMs: 0 },
  ]
  const models = { versions, status: { failures } }
  return new HealthChecks({ clock, cycles, disk, models, store } as unknown as ServerSources)
}
