/**
 * Models on the provider `webgpu`: on SwiftShader, a Vulkan driver that computes on the CPU, or on the driver that VK_DRIVER_FILES names.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CycleResponse } from '../../src/contract/index.js'
import { readPackage, verifyPackage, type LoadedModel } from '../../src/model/index.js'
import { openGraph } from '../../src/model/sessions/graph-session.js'
import { planModel } from '../../src/model/sessions/plans.js'
import { mlDomain, type Operator } from '../../models/onnx-writer.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import {
  expectClose,
  expectedViews,
  expectModelError,
  load,
  packaged,
  postsWithViews,
  quiet,
} from '../helpers/loaded-models.js'
import { modelsDir, sigmoidGraph, smallGraph, temporaryModelsDir } from '../helpers/model-packages.js'
import { executable } from '../harness/server.js'
import { started } from '../helpers/servers.js'

const driver = process.env.VK_DRIVER_FILES ?? ''
const hasDriver = existsSync(driver)
if (!hasDriver)
  console.log(`skipped: there is no Vulkan driver ${driver} (apt-get install chromium libvulkan1)`)

/** The first run of a process compiles the shaders, which takes seconds on a busy machine. */
const timeLimitMs = 15_000
const patience = { timeout: 120_000 }
const onDevice = { executionProviders: ['webgpu'], timeLimitMs }

describe.skipIf(!hasDriver)('on webgpu', () => {
  test('the example passes every check with heads, encoders and golden cases, and with the values of the CPU', async () => {
    const report = await verifyPackage({
      ...quiet(),
      ...onDevice,
      modelsDir,
      version: 'example-1',
      provider: 'webgpu',
      latencyMsMax: timeLimitMs,
    })
    expect(report.checks.filter(({ state }) => state !== 'pass')).toEqual([])
    const names = report.checks.map(({ check }) => check)
    expect(names).toEqual(expect.arrayContaining(['golden', 'batches', 'text', 'image', 'provider']))
    expect(report.checks.find(({ check }) => check === 'placement')?.sentence).toMatch(
      /^head\.onnx runs on webgpu; all \d+ nodes\. text\/model\.onnx runs on webgpu; the CPU runs 2 of \d+ nodes \((Shape, Cast|Cast, Shape)\), \d+\.\d % of a run\. image\/model\.onnx runs on webgpu; all \d+ nodes\.$/,
    )
  })

  test('a graph of which the device takes no node is refused: the next provider serves it, and the log and the placement give the reason', async () => {
    const attributes = { offset: { floats: [0] }, scale: { floats: [1] } }
    const graph = smallGraph({
      operators: [{ type: 'Scaler', inputs: ['features'], outputs: ['probs'], domain: mlDomain, attributes }],
    })
    const options = packaged(graph, undefined, { ...onDevice, executionProviders: ['webgpu', 'cpu'] })
    const model = await load(options)
    expect(model.placements).toEqual([
      {
        file: 'head.onnx',
        provider: 'cpu',
        refused: ['webgpu: it leaves all 1 nodes to the CPU'],
        nodes: null,
      },
    ])
    expect(options.lines).toContainEqual(
      expect.stringMatching(
        /^warn: execution provider webgpu cannot serve .*head\.onnx: it leaves all 1 nodes to the CPU$/,
      ),
    )
    const report = await verifyPackage({ ...options, version: 'v1' })
    expect(report.checks.find(({ check }) => check === 'placement')).toMatchObject({
      state: 'warn',
      sentence: 'head.onnx runs on cpu; not on webgpu: it leaves all 1 nodes to the CPU.',
    })
    const alone = packaged(graph, undefined, onDevice)
    await expectModelError(load(alone), /tried webgpu; webgpu: it leaves all 1 nodes to the CPU/)
  })

  test('a graph that runs mostly on the CPU is refused, or served with a warning if the setting says so', async () => {
    const refusing = packaged(doubleGraph, undefined, { ...onDevice, executionProviders: ['webgpu', 'cpu'] })
    const model = await load(refusing)
    expect(model.provider).toBe('cpu')
    expect(refusing.lines).toContainEqual(
      expect.stringMatching(
        /^warn: execution provider webgpu cannot serve .*: the graph would run mostly on the CPU: the CPU runs \d+ of \d+ nodes \(8 MatMul, .*\), \d+\.\d % of a run$/,
      ),
    )
    const warning = packaged(doubleGraph, undefined, { ...onDevice, mostlyOnCpu: 'warn' })
    const served = await load(warning)
    expect(served.provider).toBe('webgpu')
    expect(served.placements[0]?.nodes?.onCpu).toMatchObject({ MatMul: 8 })
    expect(warning.lines).toContainEqual(
      expect.stringMatching(/^warn: .* runs mostly on the CPU, although webgpu serves it: /),
    )
    expectClose((await served.predict(postsWithViews([0]))).p_views, [0.5])
  })

  test('a provider whose trial run fails is released, and the next one serves', async () => {
    const create = vi.spyOn(ort.InferenceSession, 'create')
    onTestFinished(() => create.mockRestore())
    const options = packaged(sigmoidGraph, undefined, onDevice)
    const [plan] = planModel(await readPackage(options.modelsDir, options.version), {
      executionProviders: ['webgpu', 'cpu'],
      log: options.log,
    }).heads.graphs
    const trial = (): Promise<never> => Promise.reject(new Error('the device was lost'))
    const { placement } = await openGraph(plan!, { problemsOf: () => [], trial }, options.log)
    expect(placement).toMatchObject({ provider: 'cpu', refused: ['webgpu: the device was lost'] })
    const session = await (create.mock.results[0]!.value as Promise<ort.InferenceSession>)
    await expect(session.run({})).rejects.toThrow(/disposed|missing/)
  })

  test('a hang ends at the time limit: the process is killed and replaced, and the new one serves on the device', async () => {
    const model = await load(packaged(sigmoidGraph, undefined, onDevice))
    const pid = processOf(model)
    process.kill(pid, 'SIGSTOP')
    const limit = new RegExp(`a batch of 2 rows took longer than its time limit of ${timeLimitMs} ms`)
    await expectModelError(model.predict(postsWithViews([1, 2])), limit)
    expect(model.available).toBe(false)
    await vi.waitUntil(() => model.available, patience)
    expect(processOf(model)).not.toBe(pid)
    expect(model.provider).toBe('webgpu')
    expectClose((await model.predict(postsWithViews([8]))).p_views, expectedViews([8]))
  })

  test('a lost process is replaced by one that serves on the device', async () => {
    const model = await load(packaged(sigmoidGraph, undefined, onDevice))
    const pid = processOf(model)
    process.kill(pid, 'SIGKILL')
    await vi.waitUntil(() => !model.available, patience)
    await vi.waitUntil(() => model.available, patience)
    expect(processOf(model)).not.toBe(pid)
    expect(model.provider).toBe('webgpu')
    expectClose((await model.predict(postsWithViews([3]))).p_views, expectedViews([3]))
  })

  test('a server scores, swaps to another version between two cycles, and models list says which nodes the CPU runs', async () => {
    const directory = temporaryModelsDir()
    for (const version of ['example-1', 'example-2']) writeExample(directory, version)
    writeFileSync(join(directory, 'ACTIVE'), 'example-1\n')
    const server = await started({
      UNDERSTUDY_MODELS_DIR: directory,
      UNDERSTUDY_EXECUTION_PROVIDERS: 'webgpu',
      UNDERSTUDY_MODEL_LATENCY_MS_MAX: String(timeLimitMs),
      UNDERSTUDY_TEXT_ENCODE_MS_MAX: String(timeLimitMs),
    })
    const score = async (index: number): Promise<CycleResponse> => {
      const body = cycleBody(index, {
        candidates: [candidate('g', index + 1, { title: `글 ${index} 후기` })],
        engagement: [reading('g', index + 1, cycleMs(index), { views: 37 })],
      })
      const { status, text } = await server.call({
        method: 'POST',
        path: '/v1/cycles',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      })
      expect(status, text).toBe(200)
      return JSON.parse(text) as CycleResponse
    }
    const served = [await score(0)]
    writeFileSync(join(directory, 'ACTIVE'), 'example-2\n')
    const servesNext = async (): Promise<boolean> =>
      (await server.call({ path: '/v1/health' })).text.includes('"model_version":"example-2"')
    await vi.waitUntil(servesNext, patience)
    served.push(await score(1))
    expect(served.map((response) => response.model_version)).toEqual(['example-1', 'example-2'])
    expect(served.map(({ counts }) => counts.scored_now)).toEqual([1, 1])
    const list = spawnSync(
      executable,
      ['models', 'list', '--models-dir', directory, '--data-dir', server.dataDir],
      {
        encoding: 'utf8',
      },
    )
    expect(list.stdout).toMatch(
      /^example-2\/text\/model\.onnx runs on webgpu; the CPU runs 2 of \d+ nodes \(.*\), \d+\.\d % of a run$/m,
    )
  })
})

/** Matrix products in float64, for which the device has no kernels, and a sigmoid on the device. Of views 0 the result is 0.5. */
const doubleGraph = smallGraph({
  operators: [
    { type: 'Cast', inputs: ['features'], outputs: ['wide'], attributes: { to: { int: 11 } } },
    { type: 'ReduceMax', inputs: ['wide'], outputs: ['most'], attributes: { keepdims: { int: 1 } } },
    { type: 'Expand', inputs: ['most', 'size'], outputs: ['m0'] },
    ...Array.from({ length: 8 }, (_, i): Operator => ({
      type: 'MatMul',
      inputs: [`m${i}`, `m${i}`],
      outputs: [`m${i + 1}`],
    })),
    { type: 'ReduceMax', inputs: ['m8'], outputs: ['last'], attributes: { keepdims: { int: 1 } } },
    { type: 'Mul', inputs: ['wide', 'last'], outputs: ['product'] },
    { type: 'Cast', inputs: ['product'], outputs: ['narrow'], attributes: { to: { int: 1 } } },
    { type: 'Sigmoid', inputs: ['narrow'], outputs: ['probs'] },
  ],
  constants: [{ name: 'size', shape: [2], values: BigInt64Array.of(500n, 500n) }],
})

function processOf(model: LoadedModel): number {
  return model.processes[0]?.pid ?? expect.fail('no process serves')
}

/** A copy of the example under another version. */
function writeExample(directory: string, version: string): void {
  const target = join(directory, version)
  mkdirSync(target)
  cpSync(join(modelsDir, 'example-1'), target, { recursive: true })
  const file = join(target, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...manifest, model_version: version }))
}
