/** The versions of models on the page: their uses, their failures, and what they cost in their own cycles. */
import { describe, expect, test } from 'vitest'
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
    const found = await models({ sources, observer: { points: { items } } as unknown as Observer })
    expect(found).toMatchObject({
      serving: 'a',
      previous: null,
      models_dir: '/nowhere',
      shadow_cycles_skipped: 7,
    })
    expect(
      found.models.map(({ version: name, uses, failure: failed, predict_ms }) => ({
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
})
