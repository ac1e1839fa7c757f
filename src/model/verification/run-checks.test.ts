/**
 * Checks that run a model, with models that are wrong in one way each.
 */
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { scratchDir } from '../../../test/helpers/servers.js'
import type { HeadColumns } from '../../contract/index.js'
import { findFeature } from '../features/catalogue.js'
import { clampHeads } from '../sessions/head-shares.js'
import { GraphError, ModelError, ModelRowError, type ModelInputs } from '../model.js'
import type { ModelPackage } from '../package/read-package.js'
import { compareWithCpu } from './provider-check.js'
import type { CheckLine } from './report.js'
import { assertChecksPass, runChecks, type CheckOptions } from './run-checks.js'
import { manyKinds, reorder, shuffle, trialInputs } from './trial-inputs.js'
import type { TrialModel } from './trial-model.js'

const modelPackage: ModelPackage = {
  directory: '/nowhere',
  manifest: {
    model_version: 'v1',
    kind: 'trained',
    features: ['views_log'],
    head: { file: 'head.onnx', sha256: '', inputs: { features: 'x' }, outputs: { p_up: { name: 'y' } } },
  },
  features: [findFeature('views_log')!],
  files: [],
}

/** One share per row, from the views of its reading; `change` may alter it by the number of rows and the index of the row. */
function scoring(
  change: (share: number, rowCount: number, row: number) => number = (share) => share,
): TrialModel {
  return {
    text: null,
    image: null,
    predict: (inputs: ModelInputs) =>
      Promise.resolve(
        heads(
          Float32Array.from(inputs.readings.subarray(0, inputs.count), (reading, row) => {
            const views = inputs.engagement.views[reading]!
            return change(Number.isNaN(views) ? 0.5 : (views % 97) / 97, inputs.count, row)
          }),
        ),
      ),
    predictRows: ({ count }) => Promise.resolve(heads(new Float32Array(count))),
  }
}

function heads(column: Float32Array): HeadColumns {
  return { p_views: null, p_comments: null, p_up: column, downvote_share: null }
}

async function linesOf(
  model: TrialModel,
  options?: CheckOptions,
  members: Partial<ModelPackage['manifest']> = {},
) {
  const lines: CheckLine[] = []
  const manifest = { ...modelPackage.manifest, ...members }
  for await (const line of runChecks(model, { ...modelPackage, manifest }, options)) lines.push(line)
  return lines
}

async function lineOf(
  check: string,
  model: TrialModel,
  options?: CheckOptions,
): Promise<CheckLine | undefined> {
  return (await linesOf(model, options)).find((line) => line.check === check)
}

const clip: Partial<ModelPackage['manifest']> = {
  head: {
    file: 'head.onnx',
    sha256: '',
    inputs: { features: 'x' },
    outputs: { p_up: { name: 'y', activation: 'clip' } },
  },
}

/** The check of golden cases of a clipped head. */
async function goldenLine(
  actual: readonly number[],
  expected: readonly number[],
): Promise<CheckLine | undefined> {
  const directory = scratchDir()
  const text = JSON.stringify({
    cases: expected.map((p_up) => ({ features: { views_log: 1 }, heads: { p_up } })),
  })
  writeFileSync(join(directory, 'golden.json'), text)
  const golden = { file: 'golden.json', sha256: hash('sha256', text) }
  const model: TrialModel = {
    ...scoring(),
    predictRows: () => Promise.resolve(heads(Float32Array.from(actual))),
  }
  const manifest = { ...modelPackage.manifest, ...clip, golden }
  for await (const line of runChecks(model, { ...modelPackage, directory, manifest }))
    if (line.check === 'golden') return line
  return undefined
}

describe('a model', () => {
  test('that is correct passes, and checks of parts that it lacks are skipped', async () => {
    const lines = await linesOf(scoring(), {}, { kind: 'transport-test' })
    expect(lines.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'latency pass',
      'golden skip',
      'extremes pass',
      'batches pass',
      'text skip',
      'image skip',
    ])
    await assertChecksPass(scoring(), modelPackage)
  })

  test('whose head has one value on all rows gets a warning', async () => {
    const line = await lineOf(
      'batches',
      scoring(() => 0.25),
    )
    expect(line).toMatchObject({ state: 'warn' })
    expect(line?.sentence).toMatch(/^p_up is 0\.250 on all 5000 rows: the head does not depend on its inputs/)
    await assertChecksPass(
      scoring(() => 0.25),
      modelPackage,
    )
  })

  test.each([
    ['half', 250, 'pass'],
    ['more than half', 251, 'warn'],
  ])(
    'that a clip sets to a bound in %s of its rows: %s posts of ten rows each: %s',
    async (_, posts, state) => {
      const clipped: TrialModel = {
        ...scoring(),
        predict: ({ readings, count }) =>
          Promise.resolve(
            heads(
              Float32Array.from(readings.subarray(0, count), (post) =>
                post < posts ? post % 2 : post / 1000,
              ),
            ),
          ),
      }
      const line = (await linesOf(clipped, {}, clip)).find(({ check }) => check === 'batches')
      expect(line?.state).toBe(state)
      if (state === 'warn')
        expect(line?.sentence).toMatch(
          /^p_up is 0 or 1 in 2510 of 5000 rows, a bound of the activation clip, .*: compare scale, offset and column/,
        )
      // Without the activation the graph itself gives these values, as a single decision tree does.
      expect(await lineOf('batches', clipped)).toMatchObject({ state: 'pass' })
    },
  )

  test('that a clip sets to a bound in all golden cases gets a warning', async () => {
    const line = await goldenLine([0, 1], [0, 1])
    expect(line).toMatchObject({ state: 'warn' })
    expect(line?.sentence).toMatch(
      /^p_up is 0 or 1 in 2 of 2 rows, a bound .*\. 2 golden cases: the largest difference/,
    )
    expect(await goldenLine([0, 1, 0.5], [0, 1, 0.5])).toMatchObject({ state: 'pass' })
  })

  test('that differs from a golden case is told so with the digits that differ, and what fewer bits need', async () => {
    expect(await goldenLine([0.50121], [0.50149])).toMatchObject({
      state: 'fail',
      sentence:
        '1 head of 1 golden case differ by more than 0.0001; the first is p_up of golden case 1: 0.5012, expected 0.5015; they ' +
        'differ by 0.000280. If the graph has fewer bits than the model of the training (float16, int8), set golden.tolerance in ' +
        'the manifest to the difference that you accept.',
    })
    expect((await goldenLine([0.2], [0.4]))?.sentence).not.toContain('golden.tolerance')
  })

  test('that is not deterministic, or whose rows depend on each other, is to be exported in evaluation mode', async () => {
    let run = 0
    const sentences = await Promise.all(
      [
        scoring((share) => (share + ++run / 1e6) / 2),
        scoring((share, rowCount) => (share + rowCount / 1e6) / 2),
      ].map(async (model) => (await lineOf('batches', model))?.sentence),
    )
    for (const sentence of sentences) expect(sentence).toContain('call .eval()')
  })

  test('whose rows depend on their number fails, alone and in a batch', async () => {
    const line = await lineOf(
      'batches',
      scoring((share, rowCount) => (share + rowCount / 1e6) / 2),
    )
    expect(line).toMatchObject({ state: 'fail' })
    expect(line?.sentence).toMatch(
      /gets different heads alone than in a batch of 5000 rows: p_up of row \d+ differs by 0\.0025/,
    )
  })

  test('whose rows depend on their position fails', async () => {
    const line = await lineOf(
      'batches',
      scoring((share, rowCount, row) => (row > 0 && rowCount < 5000 ? 1 - share : share)),
    )
    expect(line?.sentence).toMatch(/in a batch of 600 rows in another order/)
  })

  test('whose rows depend on their number fails, whatever the tolerance of its golden cases', async () => {
    const model = scoring((share, rowCount) => share * 0.9 + (rowCount === 1 ? 5e-5 : 0))
    const golden = { file: 'golden.json', sha256: '', tolerance: 1e-2 }
    const withTolerance = { ...modelPackage, manifest: { ...modelPackage.manifest, golden } }
    await expect(assertChecksPass(model, withTolerance)).rejects.toThrow(
      /batches: .* alone .*tolerance 0\.00001/,
    )
  })

  test('that is trained and has no golden cases gets a warning that names the risk, and passes', async () => {
    const line = await lineOf('golden', scoring())
    expect(line).toMatchObject({ state: 'warn' })
    expect(line?.sentence).toMatch(/features in another order, for example, it passes every other check/)
    await assertChecksPass(scoring(), modelPackage)
  })

  test('that gives different heads for the same batch is reported as random', async () => {
    let calls = 0
    const random: TrialModel = {
      ...scoring(),
      predict: (inputs) => {
        const shift = (calls++ % 2) * 1e-3
        return scoring((share) => share / 2 + shift).predict(inputs)
      },
    }
    const line = await lineOf('batches', random)
    expect(line).toMatchObject({ state: 'fail' })
    expect(line?.sentence).toMatch(
      /^The graph is not deterministic: between two equal batches, p_up of row \d+ differs by 0\.001/,
    )
  })

  test('that is too slow fails on its latency, and is not run again', async () => {
    let calls = 0
    const slow: TrialModel = {
      ...scoring(),
      predict: (inputs) => {
        calls++
        const endAt = performance.now() + 3
        while (performance.now() < endAt);
        return scoring().predict(inputs)
      },
    }
    const lines = await linesOf(slow, { latencyMsMax: 1 })
    expect(lines[0]?.sentence).toMatch(
      /^A batch of 5000 rows takes [\d.]+ ms \(median of 1\); the limit is 1 ms/,
    )
    expect(lines.map(({ state }) => state)).toEqual(['fail', 'skip', 'skip', 'skip', 'skip', 'skip'])
    expect(calls).toBeLessThan(7)
  })

  test('of which only the first batch is slow passes: a server has run it before its first cycle', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const coldMs = [500]
    const warming: TrialModel = {
      ...scoring(),
      predict: (inputs) => {
        vi.advanceTimersByTime(coldMs.shift() ?? 20)
        return scoring().predict(inputs)
      },
    }
    expect(await lineOf('latency', warming, { latencyMsMax: 20 })).toMatchObject({
      state: 'pass',
      sentence: 'A batch of 5000 rows takes 20.0 ms (median of 3); the limit is 20 ms.',
    })
  })

  test.each([
    'a batch of 5000 rows took longer than its time limit of 30 s',
    'its process used 4.1 GiB of memory, more than its limit',
    'its process ended (SIGKILL)',
  ])('that fails on its first batch is not run again, and nothing else is said than: %s', async (reason) => {
    let calls = 0
    const failing: TrialModel = {
      ...scoring(),
      predict: () => (calls++, Promise.reject(new ModelError(reason))),
    }
    const [latency, ...skipped] = await linesOf(failing)
    expect(latency).toEqual({ check: 'latency', state: 'fail', sentence: `${reason}.` })
    expect(skipped).toEqual(
      ['golden', 'extremes', 'batches', 'text', 'image'].map((check) => ({
        check,
        state: 'skip',
        sentence: 'Not checked: the model must score a full pool in time first.',
      })),
    )
    expect(calls).toBe(1)
  })

  test.each([
    ['not finite', NaN],
    ['above 1', 1.1],
    ['below 0', -0.1],
  ])('that gives a head %s for huge counters fails on the extremes', async (_, value) => {
    const unchecked = scoring((share, rowCount) => (rowCount === 16 && share > 0.5 ? value : share))
    const model: TrialModel = {
      ...unchecked,
      predict: async (inputs) => {
        const heads = await unchecked.predict(inputs)
        clampHeads(['p_up'], [heads.p_up!])
        return heads
      },
    }
    const line = await lineOf('extremes', model)
    expect(line).toMatchObject({ state: 'fail' })
    expect(line?.sentence).toMatch(new RegExp(`head p_up: .* with ${Math.fround(value)}`))
  })

  test('with invalid heads is timed all the same: another check reports them', async () => {
    const model: TrialModel = {
      ...scoring(),
      predict: () => Promise.reject(new ModelRowError('head p_up: 1 row', 0)),
    }
    const states = (await linesOf(model)).map(({ check, state }) => `${check} ${state}`)
    expect(states).toEqual(expect.arrayContaining(['latency pass', 'extremes fail']))
  })

  test.each<[error: Error, sentence: string]>([
    [new GraphError('no such row'), 'Rows of kind "zeros" (all values are zero): no such row.'],
    [new ModelRowError('no share', 3), 'Rows of kind "zeros" (all values are zero): no share.'],
    [new ModelError('the process ended'), 'the process ended.'],
  ])(
    'that rejects a batch fails with the reason, and with the kind of rows if they are the cause: %s',
    async (error, sentence) => {
      let calls = 0
      const model: TrialModel = {
        ...scoring(),
        predict: (inputs) =>
          inputs.count === 16 && ++calls === 2 ? Promise.reject(error) : scoring().predict(inputs),
      }
      const lines = await linesOf(model)
      expect(lines[2]).toEqual({ check: 'extremes', state: 'fail', sentence })
      expect(lines[3]?.state).toBe('pass')
    },
  )

  test('that fails is refused by name, with every check that failed', async () => {
    const model = scoring((share, rowCount) => (rowCount === 1 ? NaN : share))
    const error: unknown = await assertChecksPass(model, modelPackage).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ModelError)
    expect((error as ModelError).message).toMatch(/^model v1 does not pass its checks: batches: /)
  })
})

describe('an encoder', () => {
  const encoding = (vector: (item: Uint8Array, together: number) => number[] | null): TrialModel => {
    const encode = (items: readonly Uint8Array[]) => {
      const rows = items.map((item) => vector(item, items.length))
      return Promise.resolve({
        vectors: Float32Array.from(rows.flatMap((row) => row ?? [0, 0])),
        encoded: Uint8Array.from(rows, (row) => (row === null ? 0 : 1)),
      })
    }
    return {
      ...scoring(),
      text: { hash: '', dim: 2, encode },
      image: { hash: '', dim: 2, pooling: 'mean', required: false, encode },
    }
  }

  test.each<[string, Parameters<typeof encoding>[0], CheckLine['state'], RegExp]>([
    ['that gives each its own vector passes', (item) => [item.length, 1], 'pass', /same finite vectors/],
    ['that omits one fails', (item) => (item.length > 100 ? null : [1, 1]), 'fail', /was not encoded/],
    ['whose vectors are not finite fails', () => [1, NaN], 'fail', /is not finite/],
    [
      'whose vectors depend on others fails',
      (_, together) => [together, 1],
      'fail',
      /differs by .* alone and together/,
    ],
    [
      'that is random is reported as random',
      () => [Math.random() / 2, 1],
      'fail',
      /^The graph is not deterministic: .* two equal runs/,
    ],
  ])('%s', async (_, vector, state, sentence) => {
    const lines = (await linesOf(encoding(vector))).slice(4)
    for (const line of lines) {
      expect(line.state).toBe(state)
      expect(line.sentence).toMatch(sentence)
    }
  })

  test('in half precision passes within the tolerance of the golden cases', async () => {
    const rounded = encoding((_, together) => [together === 1 ? 0.5 : 0.5008, 1])
    const golden = { file: 'golden.json', sha256: '', tolerance: 1e-3 }
    const states = async (members = {}) =>
      (await linesOf(rounded, {}, members)).slice(4).map(({ state }) => state)
    expect(await states()).toEqual(['fail', 'fail'])
    expect(await states({ golden })).toEqual(['pass', 'pass'])
    let run = 0
    const unstable = encoding(() => [0.5 + run++ * 1e-4, 1])
    for (const { sentence } of (await linesOf(unstable, {}, { golden })).slice(4))
      expect(sentence).toMatch(/^The graph is not deterministic/)
  })
})

describe('a provider', () => {
  const options = { provider: 'cuda', tolerance: 1e-3 }

  test('passes when its heads are close to those of the CPU', async () => {
    const line = await compareWithCpu(
      scoring((share) => share * 0.9999),
      scoring(),
      options,
    )
    expect(line).toMatchObject({ state: 'pass' })
    expect(line.sentence).toMatch(
      /between cuda and cpu over 5000 rows: heads 0\.0000\d+; the tolerance is 0\.001/,
    )
  })

  test.each([
    ['are far from', (share: number) => share * 0.9],
    ['are NaN on the CPU', () => NaN],
  ])('fails if its heads %s those of the CPU', async (_, change) => {
    expect(await compareWithCpu(scoring(change), scoring(), options)).toMatchObject({ state: 'fail' })
  })
})

describe('trial rows', () => {
  const encoders = { text: { dim: 3 }, image: null }

  test('are always the same', () => {
    expect(trialInputs(manyKinds(40), encoders)).toEqual(trialInputs(manyKinds(40), encoders))
  })

  test('are of every kind, and most are ordinary', () => {
    const kinds = manyKinds(80)
    expect(new Set(kinds)).toEqual(new Set(['ordinary', 'missing', 'zeros', 'huge', 'mixed']))
    expect(kinds.filter((kind) => kind === 'ordinary').length).toBeGreaterThan(60)
  })

  test('of the kind "missing" have no vectors and no counters; "huge" ones have the largest values', () => {
    const { text, engagement } = trialInputs(['missing', 'huge'], encoders)
    expect([...(text?.row ?? [])]).toEqual([-1, expect.toSatisfy((row) => row > 0)])
    expect([...engagement.views]).toEqual([NaN, Number.MAX_SAFE_INTEGER])
  })

  test('can be reordered', () => {
    const inputs = trialInputs(manyKinds(9), encoders)
    const order = shuffle(9)
    expect([...order].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    const moved = reorder(inputs, order)
    const views = (some: ModelInputs, row: number) => some.engagement.views[some.readings[row]!]
    order.forEach((row, index) => expect(views(moved, index)).toBe(views(inputs, row)))
  })
})
