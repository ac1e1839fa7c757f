/**
 * The effects of the machine's commands: cancelled loads, models that are closed, what is logged. Swaps of a whole
 * server are in test/model-swap.test.ts.
 */
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { sigmoidGraph, temporaryModelsDir, writePackage } from '../../../test/helpers/model-packages.js'
import type { LoadedModel } from '../loaded-model.js'
import { ModelError, type Model } from '../model.js'
import { ModelLifecycle } from './lifecycle.js'
import type { ModelUsers } from './lifecycle-parts.js'
import { versionLoader, type LoadVersion } from '../verification/verified-model.js'
import { FallbackFile } from './fallback-file.js'
import { readStatus, StatusFile } from './status-file.js'

const clockMs = Date.UTC(2026, 5, 1)

/** Users that record who scores. `preparing` holds adoptions back while it is pending. */
class FakeModelUsers implements ModelUsers {
  preparing = Promise.resolve()
  readonly shadows = new Set<Model>()
  readonly signals: AbortSignal[] = []

  async adopt(_: Model, __: Model | null, takeOver: () => void, signal: AbortSignal): Promise<void> {
    this.signals.push(signal)
    await this.preparing
    takeOver()
  }

  async addShadow(model: Model, signal: AbortSignal): Promise<void> {
    this.signals.push(signal)
    await this.preparing
    this.shadows.add(model)
  }

  async removeShadow(model: Model): Promise<void> {
    await Promise.resolve()
    this.shadows.delete(model)
  }
}

/** A model without processes that counts how often it was closed. */
class FakeModel {
  readonly identity = 'identity'
  readonly kind = 'trained'
  readonly provider = 'cpu'
  available = true
  closeCount = 0

  constructor(readonly version: string) {}

  async close(): Promise<void> {
    await Promise.resolve()
    this.closeCount++
  }
}

interface Opened {
  readonly lifecycle: ModelLifecycle
  readonly users: FakeModelUsers
  readonly errors: string[]
}

/** `scored`: the versions of the stored cycles, the last one last. */
async function open(
  modelsDir: string,
  load: LoadVersion,
  isAwaited = true,
  scored: readonly string[] = [],
): Promise<Opened> {
  const errors: string[] = []
  const log = {
    ...silentLog,
    error: (fields: object, message: string) => {
      const { model_version: version = '', problem = '' } = fields as Record<string, string>
      errors.push(`${version}: ${message}: ${problem}`)
    },
  }
  const lifecycle = new ModelLifecycle({
    modelsDir,
    load,
    log,
    clock: () => clockMs,
    statusFile: new StatusFile(modelsDir, modelsDir),
    fallbackFile: new FallbackFile(modelsDir),
    scoredBefore: (versions) => Promise.resolve(scored.findLast((version) => !versions.has(version)) ?? null),
  })
  const users = new FakeModelUsers()
  onTestFinished(() => lifecycle.close())
  const opening = lifecycle.open(users)
  if (isAwaited) await opening
  return { lifecycle, users, errors }
}

/** Loads that a test ends: `models` are those that were loaded, `pending` those under way. */
function fakeLoads(): {
  load: LoadVersion
  models: Map<string, FakeModel>
  hanging: Set<string>
  /** Further versions than those whose name begins with `broken`. */
  broken: Set<string>
  signals: Map<string, AbortSignal>
} {
  const models = new Map<string, FakeModel>()
  const hanging = new Set<string>()
  const broken = new Set<string>()
  const signals = new Map<string, AbortSignal>()
  const load: LoadVersion = async (version, signal) => {
    signals.set(version, signal)
    if (hanging.has(version))
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    if (version.startsWith('broken') || broken.has(version)) throw new ModelError('it is broken')
    const model = new FakeModel(version)
    models.set(version, model)
    return model as unknown as LoadedModel
  }
  return { load, models, hanging, broken, signals }
}

function select(modelsDir: string, active: string, ...shadows: readonly string[]): void {
  writeFileSync(join(modelsDir, 'ACTIVE'), `${active}\n`)
  writeFileSync(join(modelsDir, 'SHADOW'), shadows.map((version) => `${version}\n`).join(''))
}

describe('a start without a loadable ACTIVE', () => {
  const states = ({ status }: ModelLifecycle): string[] =>
    status.versions.map(({ version, state }) => `${version} ${state}`)

  test('is served by the last other version that scored and still loads, until ACTIVE loads', async () => {
    const modelsDir = temporaryModelsDir()
    const { load, broken } = fakeLoads()
    for (const version of ['b', 'c']) broken.add(version)
    select(modelsDir, 'c')
    const { lifecycle, errors } = await open(modelsDir, load, true, ['z', 'a', 'b', 'c'])
    expect(lifecycle.current()?.version).toBe('a')
    expect(lifecycle.warnings).toEqual([
      { code: 'model_stands_in', version: 'a', failed: 'c', problem: 'it is broken' },
    ])
    expect(lifecycle.fallback).toMatchObject({ version: 'a', failed: 'c', cause: 'load' })
    expect(errors).toContainEqual(
      expect.stringMatching(/^a: model serves instead of the version that cannot be/),
    )
    // A restart tries ACTIVE first.
    expect(await new FallbackFile(modelsDir).read()).toBeNull()
    broken.delete('c')
    await vi.waitUntil(() => lifecycle.current()?.version === 'c', { timeout: 20_000 })
    expect([lifecycle.fallback, lifecycle.warnings]).toEqual([null, []])
    await vi.waitUntil(() => states(lifecycle).join() === 'c serving')
  })

  test('follows a new ACTIVE while another version stands in', async () => {
    const modelsDir = temporaryModelsDir()
    const { load, broken } = fakeLoads()
    broken.add('c')
    select(modelsDir, 'c')
    const { lifecycle } = await open(modelsDir, load, true, ['a'])
    select(modelsDir, 'd')
    await lifecycle.poll()
    await vi.waitUntil(() => lifecycle.current()?.version === 'd')
    expect(lifecycle.warnings).toEqual([])
  })

  test('serves nothing if no other version scored, or none of them loads', async () => {
    for (const scored of [[], ['c'], ['b', 'a', 'c']]) {
      const modelsDir = temporaryModelsDir()
      const { load, broken } = fakeLoads()
      for (const version of ['a', 'b', 'c']) broken.add(version)
      select(modelsDir, 'c')
      const { lifecycle } = await open(modelsDir, load, true, scored)
      expect(lifecycle.current()).toBeNull()
      expect(lifecycle.absence?.reason).toBe('c does not serve: it is broken')
    }
  })

  test('whose ACTIVE cannot be read is served by the version of the last cycle, and says so', async () => {
    for (const content of [null, 'two\nlines\n']) {
      const modelsDir = temporaryModelsDir()
      const { load, broken } = fakeLoads()
      broken.add('b')
      if (content !== null) writeFileSync(join(modelsDir, 'ACTIVE'), content)
      const { lifecycle } = await open(modelsDir, load, true, ['a', 'b'])
      expect(lifecycle.current()?.version).toBe('a')
      expect(lifecycle.warnings.map(({ code }) => code)).toEqual(['model_stands_in', 'active_unreadable'])
      await lifecycle.poll()
      expect(lifecycle.current()?.version).toBe('a')
      select(modelsDir, 'd')
      await lifecycle.poll()
      await vi.waitUntil(() => lifecycle.current()?.version === 'd')
      expect(lifecycle.warnings).toEqual([])
    }
  })
})

describe('a change of ACTIVE', () => {
  test('immediately cancels a load that hangs, so that a rollback does not wait', async () => {
    const modelsDir = temporaryModelsDir()
    const { load, hanging, signals } = fakeLoads()
    select(modelsDir, 'a')
    const { lifecycle, errors } = await open(modelsDir, load)
    hanging.add('b')
    select(modelsDir, 'b')
    await lifecycle.poll()
    expect(lifecycle.status.versions.map(({ version, state }) => `${version} ${state}`)).toEqual([
      'a serving',
      'b loading',
    ])
    select(modelsDir, 'a')
    await lifecycle.poll()
    expect(signals.get('b')?.aborted).toBe(true)
    expect(lifecycle.status.versions.map(({ version, state }) => `${version} ${state}`)).toEqual([
      'a serving',
    ])
    expect(errors.filter((line) => line.startsWith('b'))).toEqual([])
  })

  test('takes effect while the first version hangs, before any version has served', async () => {
    const modelsDir = temporaryModelsDir()
    const { load, hanging } = fakeLoads()
    hanging.add('a')
    select(modelsDir, 'a')
    const { lifecycle } = await open(modelsDir, load, false)
    await lifecycle.poll()
    select(modelsDir, 'b')
    await lifecycle.poll()
    await vi.waitUntil(() => lifecycle.current()?.version === 'b')
  })

  test('cancels an adoption in progress: its model is closed and never serves', async () => {
    const modelsDir = temporaryModelsDir()
    const { load, models } = fakeLoads()
    select(modelsDir, 'a')
    const { lifecycle, users } = await open(modelsDir, load)
    let continuePreparation = (): void => undefined
    users.preparing = new Promise((resolve) => (continuePreparation = resolve))
    select(modelsDir, 'b')
    await lifecycle.poll()
    await vi.waitUntil(() => users.signals.length === 2)
    select(modelsDir, 'a')
    await lifecycle.poll()
    expect(users.signals.at(-1)?.aborted).toBe(true)
    await vi.waitUntil(() => (models.get('b')?.closeCount ?? 0) > 0)
    continuePreparation()
    await lifecycle.close()
    expect(models.get('a')?.closeCount).toBe(1)
    expect(lifecycle.current()).toBeNull()
  })

  test('to a version that fails leaves the other serving; its state has the problem and the time', async () => {
    const modelsDir = temporaryModelsDir()
    const { load } = fakeLoads()
    select(modelsDir, 'a')
    const { lifecycle, errors } = await open(modelsDir, load)
    select(modelsDir, 'broken')
    await lifecycle.poll()
    await vi.waitUntil(() => lifecycle.status.versions.some(({ state }) => state === 'failed'))
    expect(lifecycle.status).toEqual({
      versions: [
        { version: 'a', role: 'active', state: 'serving' },
        { version: 'broken', role: 'active', state: 'failed' },
      ],
      failures: [{ version: 'broken', role: 'active', problem: 'it is broken', atMs: clockMs }],
    })
    expect(lifecycle.current()?.version).toBe('a')
    expect(errors).toContain('broken: model failed to load; the previous version keeps serving: it is broken')
  })
})

test('the failure of a version is over when the version serves, and when it is no longer named', async () => {
  const modelsDir = temporaryModelsDir()
  const { load } = fakeLoads()
  select(modelsDir, 'a')
  let isRepaired = false
  const { lifecycle } = await open(modelsDir, async (version, signal) => {
    if (version === 'b' && !isRepaired) throw new ModelError('it is broken')
    return load(version, signal)
  })
  const failed = (): string[] => lifecycle.status.failures.map(({ version }) => version)
  const hasState = (version: string, state: string): boolean =>
    lifecycle.status.versions.some((one) => one.version === version && one.state === state)
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => hasState('b', 'failed'))
  expect(failed()).toEqual(['b'])
  select(modelsDir, 'a')
  await lifecycle.poll()
  expect(failed()).toEqual([])
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => hasState('b', 'failed'))
  expect(failed()).toEqual(['b'])
  isRepaired = true
  select(modelsDir, 'a')
  await lifecycle.poll()
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => hasState('b', 'serving'))
  expect(failed()).toEqual([])
  await lifecycle.close()
})

test('other processes read the state of each version, and its last failure, until the server ends', async () => {
  const modelsDir = temporaryModelsDir()
  const { load, hanging } = fakeLoads()
  hanging.add('b')
  select(modelsDir, 'a')
  const { lifecycle } = await open(modelsDir, load)
  select(modelsDir, 'a', 'broken', 'b')
  await lifecycle.poll()
  await vi.waitUntil(
    async () =>
      (await readStatus(modelsDir))?.versions.find(({ version }) => version === 'b')?.state === 'loading',
  )
  const status = await readStatus(modelsDir)
  expect(status?.versions[0]).toEqual({ version: 'a', role: 'active', state: 'serving' })
  expect(status?.failures).toMatchObject([{ version: 'broken', problem: 'it is broken' }])
  await lifecycle.close()
  expect(await readStatus(modelsDir)).toBeNull()
})

test('a state that was not updated for ten seconds belongs to a server that has ended', async () => {
  const modelsDir = temporaryModelsDir()
  await new StatusFile(modelsDir, modelsDir).write({ versions: [], failures: [] })
  expect(await readStatus(modelsDir)).toEqual({ modelsDir, versions: [], failures: [] })
  const before = new Date(Date.now() - 11_000)
  utimesSync(join(modelsDir, 'models-status.json'), before, before)
  expect(await readStatus(modelsDir)).toBeNull()
})

test('a model that is replaced is closed once, after its successor has taken over', async () => {
  const modelsDir = temporaryModelsDir()
  const { load, models } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle } = await open(modelsDir, load)
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => lifecycle.current()?.version === 'b')
  await vi.waitUntil(() => models.get('a')?.closeCount === 1)
  expect(models.get('b')?.closeCount).toBe(0)
})

test('a version that served before takes over from one that fails, also if it has scored no cycle', async () => {
  const modelsDir = temporaryModelsDir()
  const { load } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle } = await open(modelsDir, load)
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => lifecycle.current()?.version === 'b')
  await lifecycle.fallBack({ version: 'b', cycleCount: 3, problem: 'no score' })
  await vi.waitUntil(() => lifecycle.current()?.version === 'a')
  expect(lifecycle.fallback).toMatchObject({ version: 'a', failed: 'b' })
})

test('a model that its users do not adopt is closed, and its version has failed', async () => {
  const modelsDir = temporaryModelsDir()
  const { load, models } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle, users } = await open(modelsDir, load)
  users.preparing = Promise.reject(new ModelError('its trial failed'))
  users.preparing.catch(() => undefined)
  select(modelsDir, 'b')
  await lifecycle.poll()
  await vi.waitUntil(() => lifecycle.status.failures.length === 1)
  expect(lifecycle.status.failures).toMatchObject([{ version: 'b', problem: 'its trial failed' }])
  expect([models.get('a')?.closeCount, models.get('b')?.closeCount]).toEqual([0, 1])
})

test('a shadow that is cancelled while its users take it does not stay with them', async () => {
  const modelsDir = temporaryModelsDir()
  const { load } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle, users } = await open(modelsDir, load)
  const preparing = Promise.withResolvers<undefined>()
  users.preparing = preparing.promise.then(() => undefined)
  select(modelsDir, 'a', 's')
  await lifecycle.poll()
  await vi.waitUntil(() => users.signals.length === 2)
  select(modelsDir, 'a')
  await lifecycle.poll()
  preparing.resolve(undefined)
  await lifecycle.close()
  expect([users.signals[1]?.aborted, users.shadows.size]).toEqual([true, 0])
})

test('a shadow that is no longer named is removed from its users, then closed', async () => {
  const modelsDir = temporaryModelsDir()
  const { load, models } = fakeLoads()
  select(modelsDir, 'a', 's')
  const { lifecycle, users } = await open(modelsDir, load)
  await vi.waitUntil(() => users.shadows.size === 1)
  select(modelsDir, 'a')
  await lifecycle.poll()
  await vi.waitUntil(() => models.get('s')?.closeCount === 1)
  expect(users.shadows.size).toBe(0)
})

test('an unreadable ACTIVE is logged once for each problem, and the serving version continues', async () => {
  const modelsDir = temporaryModelsDir()
  const { load } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle, errors } = await open(modelsDir, load)
  errors.length = 0
  writeFileSync(join(modelsDir, 'ACTIVE'), 'two words')
  for (let count = 0; count < 3; count++) await lifecycle.poll()
  expect(errors.filter((line) => line.includes('ACTIVE'))).toEqual([
    expect.stringMatching(
      /^: ACTIVE cannot be read; the loaded versions do not change: .*must contain one line/,
    ),
  ])
  expect(lifecycle.current()?.version).toBe('a')
})

test('failures of a version that no other one can replace are logged once, and again after it has scored', async () => {
  const modelsDir = temporaryModelsDir()
  const { load } = fakeLoads()
  select(modelsDir, 'a')
  const { lifecycle, errors } = await open(modelsDir, load)
  const fail = () => lifecycle.fallBack({ version: 'a', cycleCount: 3, problem: 'it crashed' })
  const logged = 'a: model failed its cycles; no earlier version can take over: it crashed'
  for (let count = 0; count < 2; count++) await fail()
  expect(errors).toEqual([logged])
  lifecycle.scored('a')
  await fail()
  expect(errors).toEqual([logged, logged])
})

test('closing cancels a load in progress and closes every model', async () => {
  const modelsDir = temporaryModelsDir()
  const { load, models, hanging, signals } = fakeLoads()
  hanging.add('b')
  select(modelsDir, 'a', 's')
  const { lifecycle, users } = await open(modelsDir, load)
  await vi.waitUntil(() => users.shadows.size === 1)
  select(modelsDir, 'b', 's')
  await lifecycle.poll()
  await lifecycle.close()
  expect(signals.get('b')?.aborted).toBe(true)
  expect([...models.values()].map(({ version, closeCount }) => `${version} ${closeCount}`)).toEqual([
    'a 1',
    's 1',
  ])
})

test('a version whose name belongs to other files is refused', async () => {
  const modelsDir = temporaryModelsDir()
  for (const version of ['v1', 'v2']) writePackage(modelsDir, version, sigmoidGraph)
  select(modelsDir, 'v1')
  const load = versionLoader({
    modelsDir,
    executionProviders: ['cpu'],
    log: silentLog,
    claimVersion: (version, identity) => Promise.resolve(version === 'v1' ? identity : 'another'),
  })
  const { lifecycle, errors } = await open(modelsDir, load)
  expect(errors).toEqual([])
  select(modelsDir, 'v2')
  await lifecycle.poll()
  await vi.waitUntil(() => errors.length > 0, { timeout: 60_000 })
  expect(errors[0]).toContain('model_version v2 has already been loaded with different files')
  expect(lifecycle.current()?.version).toBe('v1')
})
