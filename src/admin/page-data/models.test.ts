/** The versions of models on the page: their uses, their failures, and what they cost in their own cycles. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pointFixture } from '../../../test/helpers/page-fixtures.js'
import type { ServerSources } from '../../server/index.js'
import type { Observer } from '../observer.js'
import { models } from './models.js'

describe('the versions', () => {
  const failure = (version: string, role: string) => ({
    version,
    role,
    problem: `problem of ${version}`,
    atMs: 1000,
  })
  const version = (name: string, role: string, state: string) => ({
    version: name,
    role,
    state,
    provider: `p-${name}`,
    processes: [],
  })
  const point = (name: string, features: number, infer: number) => ({
    ...pointFixture(0),
    model_version: name,
    stages_ms: { features, infer, plan: 1000 },
  })

  test('have their uses, their failure, and the time of features and inference in their own cycles', async () => {
    const sources = {
      settings: () => ({ modelsDir: '/nowhere', dataDir: '/nowhere' }),
      models: {
        versions: [
          version('a', 'active', 'serving'),
          version('b', 'shadow', 'failed'),
          version('c', 'active', 'failed'),
        ],
        status: { failures: [failure('c', 'active'), failure('b', 'shadow')] },
        fallback: { version: 'a', failed: 'c', reason: 'it failed', atMs: 2000 },
      },
      cycles: { models: { shadows: { skippedCount: 7 } } },
      store: { expiry: { firstPosition: () => 1 }, lastCycle: () => undefined, closed: false },
    } as unknown as ServerSources
    const items = [...[1, 2, 3, 4].map((n) => point('a', n, 10 * n)), point('c', 5, 500)]
    const response = await models({ sources, observer: { points: { items } } as unknown as Observer })
    expect(response).toMatchObject({
      serving: 'a',
      previous: null,
      models_dir: '/nowhere',
      problem: expect.stringContaining('/nowhere') as unknown,
      shadow_cycles_skipped: 7,
    })
    expect(
      response.models.map(({ version: name, uses, failure: failed, predict_ms }) => ({
        name,
        uses,
        predict_ms,
        problem: failed?.problem,
      })),
    ).toEqual([
      {
        name: 'a',
        problem: undefined,
        predict_ms: { cycles: 4, p50: 33, p99: 44 },
        uses: [{ role: 'active', state: 'serving', provider: 'p-a' }],
      },
      {
        name: 'b',
        problem: 'problem of b',
        predict_ms: null,
        uses: [{ role: 'shadow', state: 'failed', provider: 'p-b' }],
      },
      {
        name: 'c',
        problem: 'problem of c',
        predict_ms: { cycles: 1, p50: 505, p99: 505 },
        uses: [{ role: 'active', state: 'failed', provider: 'p-c' }],
      },
    ])
  })

  test('have the one that scored before the serving one, also after a change back', async () => {
    const modelsDir = mkdtempSync(join(tmpdir(), 'understudy-models-'))
    onTestFinished(() => rmSync(modelsDir, { recursive: true }))
    for (const name of ['a', 'b', 'c']) {
      mkdirSync(join(modelsDir, name))
      writeFileSync(join(modelsDir, name, 'manifest.json'), '{}')
    }
    const scoredBy: string[] = []
    const cycles = () => scoredBy.map((modelVersion, index) => ({ position: index + 1, modelVersion }))
    const lifecycle = {
      versions: [version('a', 'active', 'serving')],
      status: { failures: [] },
      fallback: null,
    }
    const sources = {
      settings: () => ({ modelsDir, dataDir: '/nowhere' }),
      models: lifecycle,
      cycles: { models: { shadows: { skippedCount: 0 } } },
      store: {
        expiry: { firstPosition: () => 1 },
        lastCycle: () => cycles().at(-1),
        tail: (position: number) => cycles().slice(position - 1),
        closed: false,
      },
    } as unknown as ServerSources
    const previousAfter = async (...versions: readonly string[]): Promise<string | null> => {
      scoredBy.push(...versions)
      lifecycle.versions = [version(versions.at(-1)!, 'active', 'serving')]
      const observer = { points: { items: [] } } as unknown as Observer
      return (await models({ sources, observer })).previous
    }
    expect(await previousAfter('c', 'a')).toBe('c')
    expect(await previousAfter('a')).toBe('c')
    expect(await previousAfter('b')).toBe('a')
    expect(await previousAfter('c', 'b')).toBe('c')
  })
})
