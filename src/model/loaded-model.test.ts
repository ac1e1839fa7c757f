/**
 * Predictions of loaded models, with the real runtime in its processes, and packages that are not loaded.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, test, vi } from 'vitest'
import {
  expectClose,
  expectedViews,
  expectModelError,
  load,
  packaged,
  postsWithViews,
  quiet,
} from '../../test/helpers/loaded-models.js'
import { modelsDir, sigmoidGraph, smallGraph } from '../../test/helpers/model-packages.js'
import { makeInputs, ordinaryInputs } from '../../test/helpers/scoring-inputs.js'
import { loadModel } from './index.js'

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

  test('reads its inputs when it is called, also behind other batches', async () => {
    const model = await load(packaged(sigmoidGraph))
    const batches = [[0, 8], [998], [8, 8, 8], [0]]
    const replies = batches.map((views) => {
      const inputs = postsWithViews(views)
      const reply = model.predict(inputs)
      inputs.engagement.views.fill(7)
      return reply
    })
    for (const [index, reply] of replies.entries())
      expectClose((await reply).p_views, expectedViews(batches[index]!))
  })

  test('serves batches of any size, and concurrent calls each with their own rows', async () => {
    const model = await load(packaged(sigmoidGraph))
    const batches = [1, 3000, 0, 2, 700].map((count) =>
      Array.from({ length: count }, (_, row) => count + row),
    )
    const replies = await Promise.all(batches.map((views) => model.predict(postsWithViews(views))))
    replies.forEach((heads, index) => expectClose(heads.p_views, expectedViews(batches[index] ?? [])))
  })

  test('refuses calls beyond the limit of the queue', async () => {
    const model = await load(packaged(sigmoidGraph))
    const calls = Array.from({ length: 40 }, () => model.predict(postsWithViews([1])))
    const settled = await Promise.allSettled(calls)
    expect(settled[0]?.status).toBe('fulfilled')
    expect(settled.at(-1)).toMatchObject({ reason: { message: 'too many batches wait for the model' } })
  })

  test('uses the first provider that can run it, and logs why the ones before cannot', async () => {
    const options = packaged(sigmoidGraph, () => ({}), { executionProviders: ['abacus', 'cpu'] })
    const model = await load(options)
    expect(model.provider).toBe('cpu')
    expect(options.lines).toEqual([
      expect.stringMatching(
        /^warn: execution provider abacus cannot serve .*head\.onnx: this ONNX Runtime supports only .*cpu/,
      ),
      'info: execution provider selected',
    ])
  })

  test('does not use providers that its manifest does not list', async () => {
    const options = packaged(sigmoidGraph, () => ({ execution_providers: ['cpu'] }), {
      executionProviders: ['cuda', 'cpu'],
    })
    await load(options)
    expect(options.lines[0]).toMatch(/cuda is not used: the manifest does not list it/)
  })

  test('of this repository has every head', async () => {
    const model = await load({ ...quiet(), modelsDir, version: 'transport-test-1' })
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

  test('encodes texts and images to vectors, and to zeros if they cannot be read', async () => {
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

  test('reads embeddings as they were when it was called, also behind another batch', async () => {
    const model = await example()
    const inputs = ordinaryInputs(3, 1)
    const { dim } = model.text!
    const text = {
      dim,
      vectors: new Float32Array(2 * inputs.count * dim).fill(0.5),
      row: Int32Array.from({ length: 2 * inputs.count }, (_, slot) => slot),
    }
    const expected = await model.predict({ ...inputs, text })
    const first = model.predict({ ...inputs, text })
    const second = model.predict({ ...inputs, text })
    // Meanwhile, images of other posts are encoded, and posts leave.
    text.vectors.fill(-3)
    text.row.fill(-1)
    for (const heads of [await first, await second]) expectClose(heads.p_views, [...expected.p_views!])
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

  test('gives texts their budget plus the time limit, and images the time limit', async () => {
    const model = await load({ ...quiet(), modelsDir, version: 'example-1', timeLimitMs: 3000 })
    for (const { role, pid } of model.processes) if (role !== 'heads') process.kill(pid, 'SIGSTOP')
    const took = (limitMs: number): RegExp => new RegExp(`took longer than its time limit of ${limitMs} ms`)
    await Promise.all([
      expectModelError(model.text!.encode([title('안녕')], 250), took(3250)),
      expectModelError(model.image!.encode([Buffer.from('a JPEG')]), took(3000)),
    ])
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
      /input features must be float32, float64 or float16 \[N, 1\], but is float32 \[N, 2\]/,
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

/** A graph of a manifest with several: the sigmoid graph, for one head. */
function graphEntry(file: string, head: string): object {
  const sha256 = createHash('sha256').update(sigmoidGraph).digest('hex')
  return { file, sha256, inputs: { features: 'features' }, outputs: { [head]: { name: 'probs' } } }
}

function vectorOf(vectors: Float32Array, row: number, dim: number): number[] {
  return [...vectors.subarray(row * dim, (row + 1) * dim)]
}
