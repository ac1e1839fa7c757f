/**
 * Models that serve, with the real runtime in its thread: what they answer, and how they fail and come back.
 */
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  modelsDir,
  sigmoidGraph,
  smallGraph,
  temporaryModelsDir,
  writePackage,
} from '../../test/helpers/model-packages.js'
import { makeInputs, ordinaryInputs } from '../../test/helpers/scoring-inputs.js'
import type { ScoringInputs } from '../pool/index.js'
import { loadModel, ModelError, type LoadedModel, type LoadOptions } from './index.js'
import type { SessionPlan } from './worker-protocol.js'

/** p_views of the sigmoid graph for posts with these views: (1 + views) / (2 + views). */
const expectedViews = (views: readonly number[]) => views.map((count) => (1 + count) / (2 + count))

describe('a loaded model', () => {
  test('predicts what its graph computes, row by row, and null for a head that it lacks', async () => {
    const model = await load(packaged(sigmoidGraph))
    expect(model).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', available: true })
    const heads = await model.predict(postsWithViews([0, 8, 998]))
    expectClose(heads.p_views, expectedViews([0, 8, 998]))
    expect([heads.p_comments, heads.p_up, heads.downvote_share]).toEqual([null, null, null])
  })

  test('takes each head from its own output and column', async () => {
    const head = smallGraph({
      inputs: [{ name: 'features', shape: ['N', 2] }],
      outputs: [
        { name: 'pair', shape: ['N', 2] },
        { name: 'single', shape: ['N'] },
      ],
      constants: [{ name: 'column', shape: [2], values: Float32Array.of(0, 1) }],
      operators: [
        { type: 'Sigmoid', inputs: ['features'], outputs: ['pair'] },
        { type: 'MatMul', inputs: ['pair', 'column'], outputs: ['single'] },
      ],
    })
    const outputs = {
      p_up: { name: 'pair', column: 1 },
      p_views: { name: 'pair', column: 0 },
      downvote_share: { name: 'single' },
    }
    const options = packaged(head, (manifest) => ({
      features: ['views_log', 'up_log'],
      head: { ...manifest.head, outputs },
    }))
    const model = await load(options)
    const heads = await model.predict(
      makeInputs(2, 0, (_, path, row) =>
        path === 'engagement.views' ? row : path === 'engagement.up' ? 8 + row : 0,
      ),
    )
    expectClose(heads.p_views, expectedViews([0, 1]))
    expectClose(heads.p_up, expectedViews([8, 9]))
    expectClose(heads.downvote_share, expectedViews([8, 9]))
    expect(heads.p_comments).toBeNull()
  })

  test('answers batches of any size, and calls at the same time each with their own rows', async () => {
    const model = await load(packaged(sigmoidGraph))
    const batches = [1, 3000, 0, 2, 700].map((count) =>
      Array.from({ length: count }, (_, row) => count + row),
    )
    const answers = await Promise.all(batches.map((views) => model.predict(postsWithViews(views))))
    answers.forEach((heads, index) => expectClose(heads.p_views, expectedViews(batches[index] ?? [])))
  })

  test('refuses calls past the longest line that may wait', async () => {
    const model = await load(packaged(sigmoidGraph))
    const calls = Array.from({ length: 40 }, () => model.predict(postsWithViews([1])))
    const settled = await Promise.allSettled(calls)
    expect(settled[0]?.status).toBe('fulfilled')
    expect(settled.at(-1)).toMatchObject({ reason: { message: 'too many batches wait for the model' } })
  })

  test('serves with the first provider that can, and says why each one before it cannot', async () => {
    const options = packaged(sigmoidGraph, () => ({}), { executionProviders: ['abacus', 'cpu'] })
    const model = await load(options)
    expect(model.provider).toBe('cpu')
    expect(options.lines).toEqual([
      expect.stringMatching(
        /^warn: execution provider abacus cannot serve: this ONNX Runtime knows only .*cpu/,
      ),
      'info: execution provider cpu serves the model',
    ])
  })

  test('passes over providers that its manifest does not list', async () => {
    const options = packaged(sigmoidGraph, () => ({ execution_providers: ['cpu'] }), {
      executionProviders: ['cuda', 'cpu'],
    })
    await load(options)
    expect(options.lines[0]).toMatch(/cuda is passed over: the manifest does not list it/)
  })

  test('reads its version from ACTIVE when none is asked for', async () => {
    const model = await load({ ...quiet(), modelsDir })
    expect(model.version).toBe('transport-test-1')
    expect(Object.values(await model.predict(ordinaryInputs(5, 1)))).not.toContain(null)
  })

  test('rejects every call once it is closed', async () => {
    const model = await load(packaged(sigmoidGraph))
    const underWay = model.predict(postsWithViews([1])).catch((error: unknown) => error)
    await model.close()
    await underWay
    expect(model.available).toBe(false)
    await expectModelError(model.predict(postsWithViews([1])), /the model is closed/)
  })
})

describe('a model is not loaded when', () => {
  const port = (name: string, ...shape: (number | string)[]) => [{ name, shape }]
  const sigmoid = [{ type: 'Sigmoid', inputs: ['features'], outputs: ['probs'] }]

  test.each<[string, Uint8Array, RegExp]>([
    ['its head is no ONNX graph', Buffer.from('no graph'), /no execution provider can serve: tried cpu/],
    [
      'its input has another name',
      smallGraph({
        inputs: port('x', 'N', 1),
        operators: [{ type: 'Sigmoid', inputs: ['x'], outputs: ['probs'] }],
      }),
      /must have input features \[N, 1\] alone, and has x/,
    ],
    [
      'its input has another width',
      smallGraph({ inputs: port('features', 'N', 2), outputs: port('probs', 'N', 2), operators: sigmoid }),
      /must have input features \[N, 1\], and has it as \[N, 2\]/,
    ],
    [
      'its batch is of a fixed size',
      smallGraph({ inputs: port('features', 4, 1), outputs: port('probs', 4, 1), operators: sigmoid }),
      /and has it as \[4, 1\]/,
    ],
    [
      'an output is missing',
      smallGraph({
        outputs: port('other', 'N', 1),
        operators: [{ type: 'Sigmoid', inputs: ['features'], outputs: ['other'] }],
      }),
      /has no output probs, but other/,
    ],
    [
      'its heads are not within 0 to 1 for a row of zeros',
      smallGraph({ operators: [{ type: 'Log', inputs: ['features'], outputs: ['probs'] }] }),
      /head p_views: 1 of 1 rows are not finite and within 0 to 1, the first is row 0 with -Infinity/,
    ],
  ])('%s', (_, head, message) => expectModelError(loadModel(packaged(head)), message))

  test('a column lies beyond its output', async () => {
    const options = packaged(sigmoidGraph, (manifest) => ({
      head: { ...manifest.head, outputs: { p_up: { name: 'probs', column: 3 } } },
    }))
    await expectModelError(loadModel(options), /output probs has no column 3/)
  })

  test('no configured provider is one that its manifest lists', async () => {
    const options = packaged(sigmoidGraph, () => ({ execution_providers: ['cuda'] }))
    await expectModelError(loadModel(options), /has no execution provider: configured are cpu, .* lists cuda/)
  })
})

describe('a model that breaks its promise', () => {
  // 1 - views_log: for a post without views 1, for one with many its square root is no number.
  const oneLess = { type: 'Sub', inputs: ['one', 'features'], outputs: ['rest'] }
  const constants = [{ name: 'one', shape: [1], values: Float32Array.of(1) }]

  test('with NaN is an error that names the head and counts the rows, and serves the next call', async () => {
    const operators = [oneLess, { type: 'Sqrt', inputs: ['rest'], outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(
      model.predict(postsWithViews([0, 99, 0, 99])),
      /^head p_views: 2 of 4 rows are not finite and within 0 to 1, the first is row 1 with NaN$/,
    )
    expectClose((await model.predict(postsWithViews([0]))).p_views, [1])
  })

  test('with a value outside 0 to 1 is an error too', async () => {
    const operators = [{ ...oneLess, outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(model.predict(postsWithViews([99])), /1 of 1 rows .* with -3\.6/)
  })
})

describe('when the thread of a model', () => {
  test('dies in a batch, every call under way or waiting rejects, and later ones are served', async () => {
    const { options, threads } = withThreads(packaged(slowGraph))
    const model = await load(options)
    threads[0]?.postMessage(crash)
    const calls = [model.predict(slowPosts), model.predict(slowPosts)]
    await Promise.all(calls.map((call) => expectModelError(call, /the model thread ended with code 7/)))
    expect(model.available).toBe(false)
    await expectModelError(model.predict(postsWithViews([1])), /the model is down: .* ended with code 7/)
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    expect(threads).toHaveLength(2)
    expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
  })

  test('takes longer than the time limit, the call rejects and the thread is replaced', async () => {
    const { options, threads } = withThreads(packaged(slowGraph, undefined, { timeLimitMs: 1 }))
    const model = await load(options)
    await expectModelError(
      model.predict(slowPosts),
      /a batch of 1200 rows took longer than its time limit of 1 ms/,
    )
    expect(model.available).toBe(false)
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    expect(threads).toHaveLength(2)
  })

  test('cannot be started again, the model keeps trying and says so each time', async () => {
    const { options, threads } = withThreads(packaged(sigmoidGraph))
    let broken = false
    const { startThread: start } = options
    const model = await load({
      ...options,
      startThread: (plan) => start(broken ? { ...plan, graph: new Uint8Array(3) } : plan),
    })
    broken = true
    threads[0]?.postMessage(crash)
    await vi.waitUntil(() => threads.length >= 3, { timeout: 30_000 })
    await expectModelError(model.predict(postsWithViews([1])), /the model is down: no execution provider/)
    broken = false
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    expect(
      options.lines.filter((line) => line.startsWith('error: the model is down')).length,
    ).toBeGreaterThan(1)
  })
})

test('threads that never return do not pile up: after two, none is started until one is gone', async () => {
  // Answers its warm-up with zeros and then nothing any more, as a driver that hangs would.
  const code = `
    const { parentPort } = require('node:worker_threads')
    parentPort.postMessage({ kind: 'ready', provider: 'stuck' })
    parentPort.on('message', (m) => m.count !== 3 && m.kind === 'batch' && parentPort.postMessage({ kind: 'done' }))`
  const threads: Worker[] = []
  const options = packaged(sigmoidGraph, undefined, {
    timeLimitMs: 1,
    startThread: () => {
      const thread = new Worker(code, { eval: true, execArgv: [] })
      threads.push(thread)
      return thread
    },
  })
  const model = await load(options)
  onTestFinished(async () => {
    await Promise.all(threads.map((thread) => thread.terminate()))
  })
  for (let i = 0; i < 2; i++) {
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    await expectModelError(model.predict(postsWithViews([1, 2, 3])), /time limit/)
  }
  const refusal = 'error: the model is down: 2 threads of the model have not returned'
  await vi.waitUntil(() => options.lines.includes(refusal), { timeout: 30_000 })
  expect(threads).toHaveLength(2)
  await threads[0]?.terminate()
  await vi.waitUntil(() => model.available, { timeout: 30_000 })
  expect(threads).toHaveLength(3)
})

/** Much work for its batch of 1200 rows, next to none for small ones: it multiplies [N, N] matrices. */
const slowGraph = smallGraph({
  operators: [
    { type: 'Transpose', inputs: ['features'], outputs: ['turned'] },
    { type: 'MatMul', inputs: ['features', 'turned'], outputs: ['square0'] },
    ...Array.from({ length: 8 }, (_, index) => ({
      type: 'MatMul',
      inputs: [`square${index}`, 'square0'],
      outputs: [`square${index + 1}`],
    })),
    { type: 'MatMul', inputs: ['square8', 'features'], outputs: ['sum'] },
    { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
  ],
})
const slowPosts = postsWithViews(Array.from({ length: 1200 }, () => 1))

/** Told to a thread of `withThreads`. */
const crash = 'crash'

interface TestOptions extends LoadOptions {
  /** What was logged: level and message. */
  readonly lines: string[]
}

function quiet(): TestOptions {
  const lines: string[] = []
  const at = (level: string) => (_: object, message: string) => {
    lines.push(`${level}: ${message}`)
  }
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  return { modelsDir: '', executionProviders: ['cpu'], log, lines }
}

/** Options for a model of that head in a directory of its own, as version v1. */
function packaged(
  head: Uint8Array,
  change: (manifest: ReturnType<typeof writePackage>) => Record<string, unknown> = () => ({}),
  more: Partial<LoadOptions> = {},
): TestOptions {
  const directory = temporaryModelsDir()
  writePackage(directory, 'v1', head, change(writePackage(directory, 'v1', head)))
  return { ...quiet(), modelsDir: directory, version: 'v1', ...more }
}

/** The same options, with the threads that the model starts within reach: each dies when it is told to. */
function withThreads(options: TestOptions) {
  const threads: Worker[] = []
  const worker = new URL('./worker.ts', import.meta.url).href
  const start = (plan: SessionPlan): Worker => {
    const code = `
      require('node:worker_threads').parentPort.on('message', (message) => {
        if (message === ${JSON.stringify(crash)}) process.exit(7)
      })
      import(${JSON.stringify(worker)})`
    const thread = new Worker(code, { eval: true, workerData: plan, execArgv: [] })
    threads.push(thread)
    return thread
  }
  return { options: { ...options, startThread: start }, threads }
}

async function load(options: LoadOptions): Promise<LoadedModel> {
  const model = await loadModel(options)
  onTestFinished(() => model.close())
  return model
}

function postsWithViews(views: readonly number[]): ScoringInputs {
  return makeInputs(views.length, 0, (_, path, row) =>
    path === 'engagement.views' ? (views[row] as number) : 0,
  )
}

function expectClose(values: Float32Array | null, expected: readonly number[]): void {
  expect(values?.length).toBe(expected.length)
  const errors = expected.map((value, row) => Math.abs((values?.[row] ?? NaN) - value))
  expect(Math.max(0, ...errors)).toBeLessThan(1e-5)
}

async function expectModelError(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}
