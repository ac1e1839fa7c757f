/**
 * Models that serve, with the real runtime in its processes: their predictions, their failures and their restarts.
 * The processes run the files of `npm run build`.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  modelsDir,
  sigmoidGraph,
  smallGraph,
  temporaryModelsDir,
  writePackage,
} from '../../test/helpers/model-packages.js'
import { makeInputs, ordinaryInputs } from '../../test/helpers/scoring-inputs.js'
import { loadModel, ModelError, type LoadedModel, type LoadOptions, type ModelInputs } from './index.js'

/** p_views of the sigmoid graph for posts with these views: (1 + views) / (2 + views). */
const expectedViews = (views: readonly number[]) => views.map((count) => (1 + count) / (2 + count))

describe('a head that is NaN', () => {
  const posts = (changes: Readonly<Record<string, number>> = {}) =>
    makeInputs(3, 0, (_, path, row) => (row === 1 ? (changes[path] ?? 1) : 1))

  test('names the feature that is missing, and no other one', async () => {
    const graph = smallGraph({
      inputs: [{ name: 'features', shape: ['N', 3] }],
      constants: [
        { name: 'views', shape: [1], values: BigInt64Array.of(0n) },
        { name: 'down', shape: [1], values: BigInt64Array.of(2n) },
      ],
      operators: [
        { type: 'Gather', inputs: ['features', 'views'], outputs: ['a'], attributes: { axis: { int: 1 } } },
        { type: 'Gather', inputs: ['features', 'down'], outputs: ['c'], attributes: { axis: { int: 1 } } },
        { type: 'Add', inputs: ['a', 'c'], outputs: ['sum'] },
        { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
      ],
    })
    const features = ['views_log', 'up_log', { name: 'down', transform: 'log1p' }]
    const model = await load(packaged(graph, () => ({ features, missing: 'nan' })))
    await expectModelError(
      model.predict(posts({ 'engagement.up': NaN, 'engagement.down': NaN })),
      /the first is row 1 with NaN; caused by feature log1p\(down\) \(missing\)$/,
    )
    expectClose((await model.predict(posts())).p_views, Array<number>(3).fill(4 / 5))
  })

  test('names the embedding that is missing, which is NaN or zeros as the manifest says for its encoder', async () => {
    const directory = temporaryModelsDir()
    const version = 'example-1'
    cpSync(join(modelsDir, version), join(directory, version), { recursive: true })
    const file = join(directory, version, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { text: object }
    writeFileSync(file, JSON.stringify({ ...manifest, text: { ...manifest.text, missing_embedding: 'nan' } }))
    const model = await load({ ...quiet(), modelsDir: directory, version })
    const inputs = ordinaryInputs(3, 1)
    await expectModelError(
      model.predict(inputs),
      /3 of 3 rows are not finite .*; caused by text embedding \(missing\)$/,
    )
    const { dim } = model.text!
    const text = { dim, vectors: new Float32Array(dim).fill(0.1), row: new Int32Array(2 * inputs.count) }
    expect((await model.predict({ ...inputs, text })).p_views).toHaveLength(3)
  })

  test('names the feature whose value causes it', async () => {
    const graph = smallGraph({
      operators: [
        { type: 'Sub', inputs: ['features', 'seven'], outputs: ['difference'] },
        { type: 'Div', inputs: ['difference', 'difference'], outputs: ['one'] },
        { type: 'Sigmoid', inputs: ['one'], outputs: ['probs'] },
      ],
      constants: [{ name: 'seven', shape: [1], values: Float32Array.of(7) }],
    })
    const model = await load(packaged(graph, () => ({ features: ['views'] })))
    await expectModelError(
      model.predict(posts({ 'engagement.views': 7 })),
      /the first is row 1 with NaN; caused by feature views \(7\)$/,
    )
  })
})

describe('a loaded model', () => {
  test('predicts what its graph computes, row by row, and gives null for a head that it lacks', async () => {
    const model = await load(packaged(sigmoidGraph))
    expect(model).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', available: true })
    const heads = await model.predict(postsWithViews([0, 8, 998]))
    expectClose(heads.p_views, expectedViews([0, 8, 998]))
    expect([heads.p_comments, heads.p_up, heads.downvote_share]).toEqual([null, null, null])
  })

  test('reads each head from its own output and column', async () => {
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
      head: Object.assign({}, manifest.head, { outputs }),
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

  test('joins the heads of several graphs, from the files of the manifest', async () => {
    const options = packaged(sigmoidGraph, () => ({
      head: [graphEntry('views.onnx', 'p_views'), graphEntry('up.onnx', 'p_up')],
    }))
    for (const name of ['views.onnx', 'up.onnx'])
      writeFileSync(join(options.modelsDir, 'v1', name), sigmoidGraph)
    const model = await load(options)
    const heads = await model.predict(postsWithViews([0, 8]))
    expectClose(heads.p_views, expectedViews([0, 8]))
    expectClose(heads.p_up, expectedViews([0, 8]))
    expect(heads.p_comments).toBeNull()
  })

  test('predicts rows of given features as it predicts posts', async () => {
    const model = await load(packaged(sigmoidGraph))
    const rows = { count: 2, features: Float32Array.of(Math.log1p(8), 0), text: null, image: null }
    expectClose((await model.predictRows(rows)).p_views, expectedViews([8, 0]))
  })

  test('serves batches of any size, and concurrent calls each with their own rows', async () => {
    const model = await load(packaged(sigmoidGraph))
    const batches = [1, 3000, 0, 2, 700].map((count) =>
      Array.from({ length: count }, (_, row) => count + row),
    )
    const replies = await Promise.all(batches.map((views) => model.predict(postsWithViews(views))))
    replies.forEach((heads, index) => expectClose(heads.p_views, expectedViews(batches[index] ?? [])))
  })

  test('refuses calls beyond the longest queue', async () => {
    const model = await load(packaged(sigmoidGraph))
    const calls = Array.from({ length: 40 }, () => model.predict(postsWithViews([1])))
    const settled = await Promise.allSettled(calls)
    expect(settled[0]?.status).toBe('fulfilled')
    expect(settled.at(-1)).toMatchObject({ reason: { message: 'too many batches wait for the model' } })
  })

  test('serves with the first provider that can, and logs why each one before it cannot', async () => {
    const options = packaged(sigmoidGraph, () => ({}), { executionProviders: ['abacus', 'cpu'] })
    const model = await load(options)
    expect(model.provider).toBe('cpu')
    expect(options.lines).toEqual([
      expect.stringMatching(
        /^warn: execution provider abacus cannot serve .*head\.onnx: this ONNX Runtime knows only .*cpu/,
      ),
      'info: execution provider cpu serves the model',
    ])
  })

  test('does not use providers that its manifest does not list', async () => {
    const options = packaged(sigmoidGraph, () => ({ execution_providers: ['cpu'] }), {
      executionProviders: ['cuda', 'cpu'],
    })
    await load(options)
    expect(options.lines[0]).toMatch(/cuda is not used: the manifest does not list it/)
  })

  test('reads its version from ACTIVE by default', async () => {
    const model = await load({ ...quiet(), modelsDir })
    expect(model.version).toBe('transport-test-1')
    expect(Object.values(await model.predict(ordinaryInputs(5, 1)))).not.toContain(null)
  })

  test('rejects every call once it is closed', async () => {
    const model = await load(packaged(sigmoidGraph))
    const inProgress = model.predict(postsWithViews([1])).catch((error: unknown) => error)
    await model.close()
    await inProgress
    expect(model.available).toBe(false)
    await expectModelError(model.predict(postsWithViews([1])), /the model is closed/)
  })
})

describe('a model with encoders', () => {
  const title = (text: string) => Buffer.from(JSON.stringify({ title: text, body_html: null }))
  const example = () => load({ ...quiet(), modelsDir, version: 'example-1' })

  test('makes vectors of texts and images, and zeros for those that it cannot read', async () => {
    const { text, image, processes } = await example()
    expect(processes.map(({ role }) => role)).toEqual(['heads', 'text', 'image'])
    const texts = await text!.encode([title('안녕'), Buffer.from('no JSON'), title('안녕')], 10_000)
    expect([...texts.encoded]).toEqual([1, 0, 1])
    const [first, unread, third] = [0, 1, 2].map((row) => vectorOf(texts.vectors, row, text!.dim))
    expect(first!.some((value) => value !== 0)).toBe(true)
    expect(unread).toEqual(new Array(text!.dim).fill(0))
    expectClose(Float32Array.from(third!), first!)
    const jpeg = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer()
    const images = await image!.encode([Buffer.from('no JPEG'), jpeg])
    expect([...images.encoded]).toEqual([0, 1])
    expect(vectorOf(images.vectors, 1, image!.dim).some((value) => value !== 0)).toBe(true)
  })

  test('predicts from embeddings by slot, and from zeros for missing ones', async () => {
    const model = await example()
    const inputs = ordinaryInputs(3, 1)
    const textOf = (dim: number, slots: readonly number[]) => {
      const row = new Int32Array(2 * inputs.count).fill(-1)
      slots.forEach((slot, vector) => (row[slot] = vector))
      return { dim, vectors: new Float32Array(slots.length * dim).fill(0.5), row }
    }
    const without = await model.predict(inputs)
    const [slot] = inputs.slots as unknown as [number]
    const withOne = await model.predict({ ...inputs, text: textOf(model.text!.dim, [slot]) })
    const changed = [...inputs.slots].map((_, row) => withOne.p_views?.[row] !== without.p_views?.[row])
    expect(changed).toEqual([true, false, false])
    const zeros = { ...textOf(model.text!.dim, [slot]), vectors: new Float32Array(model.text!.dim) }
    expectClose((await model.predict({ ...inputs, text: zeros })).p_views, [...without.p_views!])
  })

  test('continues to predict while an encoder is being replaced', async () => {
    const model = await example()
    const encoder = model.processes.find(({ role }) => role === 'text')!.pid
    process.kill(encoder, 'SIGKILL')
    await expectModelError(
      model.text!.encode([title('안녕')], 10_000),
      /the process of the text encoder was ended by SIGKILL|the text encoder is down/,
    )
    expect((await model.predict(ordinaryInputs(2, 1))).p_views).toHaveLength(2)
    await vi.waitUntil(() => model.processes.length === 3, { timeout: 30_000 })
    expect([...(await model.text!.encode([title('안녕')], 10_000)).encoded]).toEqual([1])
  })

  test('is not loaded when a file of an encoder was changed', async () => {
    const options = packaged(sigmoidGraph)
    const directory = join(options.modelsDir, 'example-1')
    cpSync(join(modelsDir, 'example-1'), directory, { recursive: true })
    appendFileSync(join(directory, 'text/tokenizer.json'), ' ')
    const version = 'example-1'
    await expectModelError(loadModel({ ...options, version }), /tokenizer.json has SHA-256 /)
  })
})

describe('a model is not loaded when', () => {
  const port = (name: string, ...shape: (number | string)[]) => [{ name, shape }]
  const sigmoid = [{ type: 'Sigmoid', inputs: ['features'], outputs: ['probs'] }]

  test.each<[string, Uint8Array, RegExp]>([
    ['its head is not an ONNX graph', Buffer.from('no graph'), /head\.onnx is not an ONNX model: /],
    [
      'its input has another name',
      smallGraph({
        inputs: port('x', 'N', 1),
        operators: [{ type: 'Sigmoid', inputs: ['x'], outputs: ['probs'] }],
      }),
      /head\.onnx: it has no input features; its inputs are x/,
    ],
    [
      'its input has another width',
      smallGraph({ inputs: port('features', 'N', 2), outputs: port('probs', 'N', 2), operators: sigmoid }),
      /input features must be float32 or float64 \[N, 1\], but is float32 \[N, 2\]/,
    ],
    [
      'its batch is of a fixed size',
      smallGraph({ inputs: port('features', 4, 1), outputs: port('probs', 4, 1), operators: sigmoid }),
      /input features must be .*, but is float32 \[4, 1\]/,
    ],
    [
      'an output is missing',
      smallGraph({
        outputs: port('other', 'N', 1),
        operators: [{ type: 'Sigmoid', inputs: ['features'], outputs: ['other'] }],
      }),
      /it has no output probs for p_views; its outputs are other/,
    ],
    [
      'its heads are not within 0 to 1 for a row of zeros',
      smallGraph({ operators: [{ type: 'Log', inputs: ['features'], outputs: ['probs'] }] }),
      /head p_views: 1 of 1 rows are not finite and within 0 to 1, the first is row 0 with -Infinity/,
    ],
  ])('%s', (_, head, message) => expectModelError(loadModel(packaged(head)), message))

  test('a column lies beyond its output', async () => {
    const options = packaged(sigmoidGraph, (manifest) => ({
      head: Object.assign({}, manifest.head, { outputs: { p_up: { name: 'probs', column: 3 } } }),
    }))
    await expectModelError(loadModel(options), /output probs has no column 3/)
  })

  test('its manifest lists none of the configured providers', async () => {
    const options = packaged(sigmoidGraph, () => ({ execution_providers: ['cuda'] }))
    await expectModelError(loadModel(options), /has no execution provider: configured are cpu, .* lists cuda/)
  })
})

describe('a model that returns invalid shares', () => {
  // 1 - views_log is 1 for a post without views; its square root is NaN for one with many.
  const oneLess = { type: 'Sub', inputs: ['one', 'features'], outputs: ['rest'] }
  const constants = [{ name: 'one', shape: [1], values: Float32Array.of(1) }]

  test('with NaN fails with an error that names the head and counts the rows, and serves the next call', async () => {
    const operators = [oneLess, { type: 'Sqrt', inputs: ['rest'], outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(
      model.predict(postsWithViews([0, 99, 0, 99])),
      /^head p_views: 2 of 4 rows are not finite and within 0 to 1, the first is row 1 with NaN; caused by feature views_log \(4\.60517\)$/,
    )
    expectClose((await model.predict(postsWithViews([0]))).p_views, [1])
  })

  test('with a value outside 0 to 1 fails too', async () => {
    const operators = [{ ...oneLess, outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(model.predict(postsWithViews([99])), /1 of 1 rows .* with -3\.6/)
  })
})

describe('when the process of a model', () => {
  test.each(['SIGSEGV', 'SIGKILL'] as const)(
    'is ended by %s in a batch, every call in progress or waiting rejects, and later ones are served',
    async (signal) => {
      const model = await load(packaged(slowGraph))
      const pid = processOf(model)
      const calls = [model.predict(slowPosts), model.predict(slowPosts)]
      process.kill(pid, signal)
      const message = new RegExp(`the process of the model was ended by ${signal}$`)
      await Promise.all(calls.map((call) => expectModelError(call, message)))
      expect(model).toMatchObject({ available: false, processes: [] })
      await expectModelError(model.predict(postsWithViews([1])), /the model is down: .* was ended by SIG/)
      await vi.waitUntil(() => model.available, { timeout: 30_000 })
      expect(processOf(model)).not.toBe(pid)
      expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
    },
  )

  test('hangs, the call rejects at the time limit, and the process is killed and replaced', async () => {
    const model = await load(packaged(sigmoidGraph, undefined, { timeLimitMs: 2000 }))
    const pid = processOf(model)
    process.kill(pid, 'SIGSTOP')
    await expectModelError(
      model.predict(postsWithViews([1, 2])),
      /a batch of 2 rows took longer than its time limit of 2000 ms/,
    )
    expect(model.available).toBe(false)
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    expect(processOf(model)).not.toBe(pid)
    await vi.waitUntil(() => !isRunning(pid), { timeout: 30_000 })
    expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
  })

  test('is busy past the time limit, the call rejects and the process is replaced', async () => {
    const model = await load(packaged(slowGraph, undefined, { timeLimitMs: 1000 }))
    await expectModelError(
      model.predict(posts(4000)),
      /a batch of 4000 rows took longer than its time limit of 1000 ms/,
    )
    expect(model.available).toBe(false)
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
  })

  test.runIf(process.platform === 'linux')(
    'exceeds its memory bound, it is killed and replaced, and the log names the cause',
    async () => {
      const options = packaged(slowGraph, undefined, { processBytesMax: 300 * 2 ** 20 })
      const model = await load(options)
      const reason = /the process of the model holds \d+ MiB, and may hold 300 MiB$/
      await expectModelError(model.predict(posts(6000)), reason)
      expect(options.lines.at(-1)).toMatch(
        /^error: the model is down: the process of the model holds \d+ MiB/,
      )
      await vi.waitUntil(() => model.available, { timeout: 30_000 })
      expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
    },
  )

  test('cannot be started again, the model keeps trying and logs each failure', async () => {
    const options = packaged(sigmoidGraph)
    const file = join(options.modelsDir, 'v1/head.onnx')
    const model = await load(options)
    writeFileSync(file, 'no graph')
    process.kill(processOf(model), 'SIGKILL')
    const refusals = () => options.lines.filter((line) => line.includes('head.onnx has SHA-256'))
    await vi.waitUntil(() => refusals().length >= 2, { timeout: 30_000 })
    await expectModelError(model.predict(postsWithViews([1])), /the model is down: .*head.onnx has SHA-256/)
    writeFileSync(file, sigmoidGraph)
    await vi.waitUntil(() => model.available, { timeout: 30_000 })
    expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
  })

  test('receives a signal that is meant for the service, it continues: the service decides when it ends', async () => {
    const model = await load(packaged(sigmoidGraph))
    const pid = processOf(model)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(pid, signal)
    expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
    expectClose((await model.predict(postsWithViews([8]))).p_views, expectedViews([8]))
    expect(processOf(model)).toBe(pid)
  })

  test('hangs, closing the model does not wait and leaves no process', async () => {
    const model = await load(packaged(slowGraph))
    const pid = processOf(model)
    const call = expectModelError(model.predict(slowPosts), /the model is closed/)
    process.kill(pid, 'SIGSTOP')
    await model.close()
    await call
    await vi.waitUntil(() => !isRunning(pid), { timeout: 30_000 })
  })
})

test.runIf(process.platform === 'linux')(
  'the process of a model ends with its owner, also in the middle of a batch',
  async () => {
    const { modelsDir: directory } = packaged(slowGraph)
    const code = `
      const { loadModel } = await import(${JSON.stringify(new URL('../../dist/model/index.js', import.meta.url))})
      const log = { info() {}, warn() {}, error() {} }
      const options = { modelsDir: ${JSON.stringify(directory)}, version: 'v1', executionProviders: ['cpu'], log }
      const model = await loadModel(options)
      const count = 8000
      model.predictRows({ count, features: new Float32Array(count), text: null, image: null })
      console.log(model.processes[0].pid)`
    const owner = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void owner.kill('SIGKILL'))
    const [line] = (await once(owner.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())
    expect(isRunning(pid)).toBe(true)
    const workingDirectory = readlinkSync(`/proc/${pid}/cwd`)
    owner.kill('SIGKILL')
    // A batch of 8000 rows of that graph takes minutes.
    await vi.waitUntil(() => !isRunning(pid), { timeout: 20_000 })
    expect(existsSync(workingDirectory)).toBe(false)
  },
)

/** Slow for a batch of 1200 rows and fast for small ones: it multiplies [N, N] matrices. */
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
const slowPosts = posts(1200)

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

/** A graph of a manifest with several: the sigmoid graph, for one head. */
function graphEntry(file: string, head: string): object {
  const sha256 = createHash('sha256').update(sigmoidGraph).digest('hex')
  return { file, sha256, inputs: { features: 'features' }, outputs: { [head]: { name: 'probs' } } }
}

/** Process id of the heads. */
function processOf(model: LoadedModel): number {
  expect(model.processes.map(({ role }) => role)).toEqual(['heads'])
  return model.processes[0]!.pid
}

/** False for a zombie too: its new parent may never wait for it. */
function isRunning(pid: number): boolean {
  try {
    return process.platform === 'linux'
      ? !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      : process.kill(pid, 0)
  } catch {
    return false
  }
}

async function load(options: LoadOptions): Promise<LoadedModel> {
  const model = await loadModel(options)
  onTestFinished(() => model.close())
  return model
}

function posts(count: number): ModelInputs {
  return postsWithViews(Array.from({ length: count }, () => 1))
}

function postsWithViews(views: readonly number[]): ModelInputs {
  return makeInputs(views.length, 0, (_, path, row) =>
    path === 'engagement.views' ? (views[row] as number) : 0,
  )
}

function vectorOf(vectors: Float32Array, row: number, dim: number): number[] {
  return [...vectors.subarray(row * dim, (row + 1) * dim)]
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
