/**
 * One check at `warn` and none at `fail` is ready everywhere; one at `fail` is not: `/readyz`, `/metrics`, `/api/now`,
 * `understudy status` and its exit code, on a real admin listener. And each line of `status` has the figure of its label.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { nowFixture } from '../../../test/helpers/page-fixtures.js'
import { startAdmin } from '../../admin/index.js'
import type { Check, Now } from '../../contract/index.js'
import { DiskSpace, type ServerSources } from '../../server/index.js'
import { processContext } from '../context.js'
import { exitCode, reportFailure } from '../failure.js'
import { addStatusCommand, statusText } from './status-command.js'

const dataDir = mkdtempSync(join(tmpdir(), 'understudy-status-'))
afterAll(() => rmSync(dataDir, { recursive: true }))

const token = 'the-admin-token-of-this-test'
const nowMs = Date.parse('2026-03-02T04:00:00Z')

interface State {
  /** Reported by health. */
  readonly problems?: readonly {
    readonly check: string
    readonly reason: object
    readonly severity: string
  }[]
  readonly journalProblem?: string
  readonly failedVersion?: string
  readonly lastCycleAgeMs?: number
  /** How far the `cycle_time` of a refused cycle was ahead. */
  readonly refusedAheadMs?: number
}

/** A server in this state, with an empty store. */
function sourcesOf(state: State): ServerSources {
  const { problems = [], journalProblem, failedVersion, lastCycleAgeMs, refusedAheadMs } = state
  const refused = { count: 1, last: { cycleId: '20260302T1305', aheadMs: refusedAheadMs } }
  const replication = { epoch: 1, entry: 2, problem: journalProblem ?? null, isSynchronous: true }
  const failures = [{ version: failedVersion, role: 'active', problem: 'no file', atMs: nowMs }]
  const serving = { version: 'v-1', role: 'active', state: 'serving', processes: [] }
  const failed = { version: failedVersion, role: 'active', state: 'failed', processes: [] }
  const receivedAt = new Date(nowMs - (lastCycleAgeMs ?? 0)).toISOString()
  return {
    clock: () => nowMs,
    disk: new DiskSpace(dataDir),
    settings: () => ({ cyclesWaitingMax: 4, host: '127.0.0.1', port: 8080, dataDir, modelsDir: dataDir }),
    log: silentLog,
    store: {
      lastCycle: () => undefined,
      role: 'owner',
      replication: journalProblem === undefined ? null : replication,
    },
    models: {
      versions: failedVersion === undefined ? [serving] : [serving, failed],
      loadFailureCounts: { active: 0, shadow: 0 },
      fallback: null,
      status: { failures },
    },
    held: () => ({ bytes: {}, calls: {} }),
    cycles: {
      onStored: () => undefined,
      problems: () => problems,
      lastCycle: () => (lastCycleAgeMs === undefined ? undefined : { cycleId: '20260302T1255', receivedAt }),
      pool: { newestCycleMs: -Infinity },
      clocks: { smallestMs: () => null, refused: () => (refusedAheadMs === undefined ? null : refused) },
      pendingCount: 0,
      queuedCount: 0,
      embeddingBacklog: { texts: 0, images: 0, quarantined: 0 },
      weights: { inForceAt: () => ({ version: 'w' }) },
      models: { shadows: { skippedCount: 0 } },
      failures: { current: null },
    },
  } as unknown as ServerSources
}

/** What an admin listener of a server in this state says, and what `understudy status` makes of it. */
async function shown(state: State) {
  const admin = await startAdmin(sourcesOf(state), {
    host: '127.0.0.1',
    port: 0,
    token,
    tls: () => null,
    version: '1',
    startWorker: () => expect.unreachable(),
  })
  const url = `http://127.0.0.1:${admin.port}`
  try {
    const readyz = await fetch(`${url}/readyz`)
    const { status, checks } = (await readyz.json()) as {
      status: string
      checks: (Check & { reason: string })[]
    }
    const metrics = await (await fetch(`${url}/metrics`)).text()
    let text = ''
    const context = {
      ...processContext(),
      env: { UNDERSTUDY_ADMIN_TOKEN: token, UNDERSTUDY_DATA_DIR: dataDir },
      print: (part: string) => void (text += part),
    }
    const program = new Command('understudy').exitOverride()
    addStatusCommand(program, context)
    let problem = ''
    // As people paste it, with a slash at its end.
    const code = await program.parseAsync(['status', '--url', `${url}/`], { from: 'user' }).then(
      () => exitCode.ok,
      (error: unknown) => reportFailure(error, {}, (line) => void (problem = line)),
    )
    return {
      readyz: `${readyz.status} ${status}`,
      checks: Object.fromEntries(checks.map(({ check, status: checkStatus }) => [check, checkStatus])),
      reasons: Object.fromEntries(checks.map(({ check, reason }) => [check, reason])),
      ready: Number(/^understudy_ready (\S+)$/m.exec(metrics)?.[1]),
      values: Object.fromEntries(
        [...metrics.matchAll(/^understudy_check_ok\{check="(\w+)"\} (\S+)$/gm)].map(
          ([, name = '', value]) => [name, Number(value)] as const,
        ),
      ),
      code,
      problem,
      text,
    }
  } finally {
    admin.stop()
  }
}

/** Omits the disk: that of the machine that runs the test may be nearly full. */
const fine = { service: 'ok', model: 'ok', storage: 'ok', last_cycle: 'ok' }
const fineValues = { service: 1, model: 1, storage: 1, last_cycle: 1, clock: 1 }
const minute = 60_000

describe('a server', () => {
  test('without problems is ready everywhere', async () => {
    expect(await shown({})).toMatchObject({
      readyz: '200 ready',
      ready: 1,
      code: 0,
      problem: '',
      checks: fine,
      values: fineValues,
    })
  })

  test.each<[string, string, State]>([
    ['a version that failed to load', 'model', { failedVersion: 'v-2' }],
    [
      'a model that fails its cycles',
      'model',
      {
        problems: [
          {
            check: 'model',
            reason: { code: 'model_fails', problem: 'it fails', cycles: 1 },
            severity: 'warn',
          },
        ],
      },
    ],
    ['a journal that cannot be used', 'storage', { journalProblem: 'refused' }],
    ['no cycle for more than 15 minutes', 'last_cycle', { lastCycleAgeMs: 15 * minute + 1 }],
    ['a cycle that was refused for the future', 'clock', { refusedAheadMs: 5000 }],
  ])('with %s warns, and is ready everywhere', async (_, check, state) => {
    expect(await shown(state)).toMatchObject({
      readyz: '200 ready',
      ready: 1,
      code: 0,
      problem: '',
      checks: { ...fine, [check]: 'warn' },
      values: { ...fineValues, [check]: 0.5 },
      text: expect.stringMatching(new RegExp(`^${check} +warn +`, 'm')) as string,
    })
  })

  test.each(['service', 'model', 'storage'])('with a problem of %s is not ready anywhere', async (check) => {
    const result = await shown({
      problems: [
        { check, reason: { code: 'model_fails', problem: 'the reason', cycles: 1 }, severity: 'fail' },
      ],
      lastCycleAgeMs: 15 * minute,
    })
    expect(result).toMatchObject({
      readyz: '503 not ready',
      ready: 0,
      code: 1,
      checks: { ...fine, [check]: 'fail' },
      reasons: { [check]: 'the model failed the last cycle: the reason' },
      values: { ...fineValues, [check]: 0 },
      problem: 'understudy: not ready: the model failed the last cycle: the reason\n',
      text: expect.stringMatching(
        new RegExp(`^${check} +fail +the model failed the last cycle: the reason$`, 'm'),
      ) as string,
    })
  })

  test('that warns and fails is not ready, and names what fails', async () => {
    const problems = [
      { check: 'service', reason: { code: 'shutting_down' }, severity: 'fail' },
      { check: 'storage', reason: { code: 'storage_refuses' }, severity: 'fail' },
    ]
    expect(await shown({ problems, failedVersion: 'v-2' })).toMatchObject({
      readyz: '503 not ready',
      code: 1,
      problem: 'understudy: not ready: the service is shutting down; storage refuses writes\n',
      checks: { service: 'fail', model: 'warn', storage: 'fail', last_cycle: 'ok' },
    })
  })
})

describe('each line', () => {
  const lines = (change: Partial<Now> = {}): Record<string, string> => {
    // The checks follow after an empty line.
    const [text = ''] = statusText({ ...nowFixture, ...change }).split('\n\n')
    return Object.fromEntries(
      text.split('\n').flatMap((line) => {
        const [, label, value] = /^(\S.*?) {2,}(\S.*)$/.exec(line) ?? []
        return label === undefined ? [] : [[label, value ?? '']]
      }),
    )
  }

  test('has the figure of its label', () => {
    expect(lines()).toMatchObject({
      status: 'degraded',
      'running since': expect.stringMatching(/, version 0\.9\.1$/) as string,
      model: expect.stringContaining('serving-7 (trained, cpu)') as string,
      shadows: 'shadow-8, shadow-9',
      weights: 'weights-3',
      'pending posts': '4321',
      'last cycle': expect.stringMatching(/^20260302T1255, received .*, 1234\.5 ms$/) as string,
      results: '4100 scored, 120 waiting, 61 missing_title, 40 post_unavailable',
      'stages, ms':
        'receive 10.0, decode 11.0, wait 12.0, plan 13.0, features 14.0, infer 15.0, encode 16.0, commit 17.0, send 18.0',
      'missing counters': '7.0 %',
      'first scores, 24 h': '97.5 % in time (target 99 %); late 21, never 12, overdue 17',
      queue: '2 of 5 cycles, 31 texts, 1 images',
      storage: '3.0 GiB, 5.0 GiB free',
      memory: '700 MiB',
    })
  })

  test('says what is missing', () => {
    const first_scores = { ...nowFixture.first_scores, share: null }
    const storage = { size_bytes: null, free_bytes: 1024 }
    expect(
      lines({ model: null, shadows: [], last_cycle: null, last_cycle_id: null, first_scores, storage }),
    ).toMatchObject({
      model: 'none',
      shadows: 'none',
      'last cycle': 'none',
      'first scores, 24 h': 'none yet',
      storage: 'unknown, 1.0 KiB free',
    })
  })
})
