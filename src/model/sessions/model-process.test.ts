/**
 * Failures of the process of a model: crashes, hangs, memory, signals, and the end of its parent.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  expectClose,
  expectedViews,
  expectModelError,
  load,
  packaged,
  postsWithViews,
} from '../../../test/helpers/loaded-models.js'
import { sigmoidGraph, smallGraph } from '../../../test/helpers/model-packages.js'
import type { LoadedModel, ModelInputs } from '../index.js'

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
      const reason = /the process of the model uses \d+ MiB of memory; the limit is 300 MiB$/
      await expectModelError(model.predict(posts(6000)), reason)
      expect(options.lines.at(-1)).toMatch(/^error: the model is down: the process of the model uses \d+ MiB/)
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
  'the process of a model ends with its parent, even in the middle of a batch',
  async () => {
    const { modelsDir: directory } = packaged(slowGraph)
    const code = `
      const { loadModel } = await import(${JSON.stringify(new URL('../../../dist/model/index.js', import.meta.url))})
      const log = { info() {}, warn() {}, error() {} }
      const options = { modelsDir: ${JSON.stringify(directory)}, version: 'v1', executionProviders: ['cpu'], log }
      const model = await loadModel(options)
      const count = 8000
      model.predictRows({ count, features: new Float32Array(count), text: null, image: null })
      console.log(model.processes[0].pid)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())
    expect(isRunning(pid)).toBe(true)
    parent.kill('SIGKILL')
    // A batch of 8000 rows of that graph takes minutes.
    await vi.waitUntil(() => !isRunning(pid), { timeout: 20_000 })
  },
)

test.runIf(process.platform === 'linux')(
  'the process of a model leaves no directory, even if it is killed together with its parent',
  async () => {
    const model = await load(packaged(sigmoidGraph))
    // Linux appends the words to the path of a directory that was removed.
    expect(readlinkSync(`/proc/${processOf(model)}/cwd`)).toMatch(/understudy-model-\w+ \(deleted\)$/)
    expectClose((await model.predict(postsWithViews([0]))).p_views, [0.5])
  },
)

test.runIf(process.platform === 'linux')(
  'the directory of a process is removed by the process itself if its parent ends before it serves',
  async () => {
    const code = `
      const { startChild } = await import(${JSON.stringify(new URL('../../../dist/model/sessions/child-process.js', import.meta.url))})
      console.log((await startChild()).pid)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())
    const directory = readlinkSync(`/proc/${pid}/cwd`)
    expect(existsSync(directory)).toBe(true)
    parent.kill('SIGKILL')
    await vi.waitUntil(() => !isRunning(pid), { timeout: 20_000 })
    expect(existsSync(directory)).toBe(false)
  },
)

/** Slow for a batch of 1200 rows and fast for small ones: it multiplies [N, N] matrices. */
const slowGraph = smallGraph({
  operators: [
    { type: 'Transpose', inputs: ['features'], outputs: ['transposed'] },
    { type: 'MatMul', inputs: ['features', 'transposed'], outputs: ['square0'] },
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

function posts(count: number): ModelInputs {
  return postsWithViews(Array.from({ length: count }, () => 1))
}
