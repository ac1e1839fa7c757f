/**
 * The whole verification of packages on disk, with real graphs in their processes.
 */
import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import {
  modelsDir as shippedDir,
  sigmoidGraph,
  smallGraph,
  temporaryModelsDir,
  writePackage,
} from '../../../test/helpers/model-packages.js'
import { ModelError } from '../model.js'
import { listModels } from '../package/selection.js'
import type { CheckLine, VerificationReport } from './report.js'
import { loadVerifiedModel } from './verified-model.js'
import { verifyPackage, type VerifyOptions } from './verify.js'

test('every shipped model passes', async () => {
  for (const version of await listModels(shippedDir)) {
    const report = await verify(shippedDir, version)
    expect(failed(report), version).toEqual([])
    expect(report).toMatchObject({ version, provider: 'cpu', passed: true })
  }
})

/** Seconds of matrix products for any number of rows; the result depends on the features, so no constant folding is possible. */
const hangingGraph = smallGraph({
  operators: [
    { type: 'ReduceMax', inputs: ['features'], outputs: ['m0'], attributes: { keepdims: { int: 1 } } },
    { type: 'Expand', inputs: ['m0', 'size'], outputs: ['m1'] },
    ...Array.from({ length: 40 }, (_, i) => ({
      type: 'MatMul',
      inputs: [`m${i + 1}`, `m${i + 1}`],
      outputs: [`m${i + 2}`],
    })),
    { type: 'ReduceMax', inputs: ['m41'], outputs: ['most'], attributes: { keepdims: { int: 1 } } },
    { type: 'Mul', inputs: ['features', 'most'], outputs: ['product'] },
    { type: 'Sigmoid', inputs: ['product'], outputs: ['probs'] },
  ],
  constants: [{ name: 'size', shape: [2], values: BigInt64Array.of(3000n, 3000n) }],
})

describe('a package', () => {
  test('that is correct passes every check that applies, and reports latency and memory', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1')
    expect(report.checks.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'manifest pass',
      'files pass',
      'graph head pass',
      'tokenizer skip',
      'load pass',
      'latency pass',
      'golden skip',
      'extremes pass',
      'batches pass',
      'text skip',
      'image skip',
      process.platform === 'linux' ? 'memory pass' : 'memory skip',
    ])
    expect(report).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', passed: true })
    expect(lineOf(report, 'latency').sentence).toMatch(
      /^A batch of 5000 rows takes [\d.]+ ms \(median of 7\)/,
    )
  })

  test('is reported check by check, each when it has finished', async () => {
    const seen: string[] = []
    let loadedAt = -1
    const log = { ...silentLog, info: () => (loadedAt = seen.length) }
    const onCheck = ({ check }: CheckLine): void => void seen.push(check)
    const report = await verify(packaged(sigmoidGraph), 'v1', { onCheck, log })
    expect(seen).toEqual(report.checks.map(({ check }) => check))
    expect(seen.slice(0, loadedAt)).toEqual(['manifest', 'files'])
  })

  test('has each of its graphs opened once, by the process that then runs the checks', async () => {
    const { report, startCount } = await countingProcesses(() => verify(shippedDir, 'example-1'))
    expect(startCount).toBe(3)
    expect(lineOf(report, 'graph head').sentence).toMatch(/^From features float32 \[.*\] to /)
    expect(lineOf(report, 'graph text').sentence).toMatch(/^From input_ids int64 \[.*\], attention_mask /)
    expect(lineOf(report, 'graph image').sentence).toMatch(/^From pixel_values float32 /)
  })

  test('with several wrong graphs fails with each of them: those that no process has loaded are opened alone', async () => {
    const sha256 = createHash('sha256').update(sigmoidGraph).digest('hex')
    const head = (input: string, name: string, output: string) => ({
      file: 'head.onnx',
      sha256,
      inputs: { features: input },
      outputs: { [output]: { name } },
    })
    const heads = [
      head('rows', 'probs', 'p_views'),
      head('features', 'probs', 'p_up'),
      head('features', 'up', 'p_comments'),
    ]
    const modelsDir = packaged(sigmoidGraph, { head: heads })
    const { report, startCount } = await countingProcesses(() => verify(modelsDir, 'v1'))
    expect(failed(report)).toEqual(['graph head[0]', 'graph head[2]'])
    expect(lineOf(report, 'graph head[0]').sentence).toMatch(/it has no input rows; its inputs are features/)
    expect(lineOf(report, 'graph head[1]').state).toBe('pass')
    expect(lineOf(report, 'graph head[2]').sentence).toMatch(/it has no output up for p_comments/)
    expect(lineOf(report, 'load').state).toBe('skip')
    expect(startCount).toBe(4)
  })

  test('whose batches take longer than the setting allows fails on its latency', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1', { latencyMsMax: 1e-6 })
    expect(failed(report)).toEqual(['latency'])
  })

  test('whose graph hangs fails when a run has taken its time limit', async () => {
    const report = await verify(packaged(hangingGraph), 'v1', { timeLimitMs: 200 })
    expect(failed(report)).toEqual(['load'])
    expect(lineOf(report, 'load').sentence).toMatch(/took longer than its time limit of 200 ms/)
  })

  test('whose graph is random is reported as random', async () => {
    const graph = smallGraph({
      operators: [{ type: 'RandomUniformLike', inputs: ['features'], outputs: ['probs'] }],
    })
    const report = await verify(packaged(graph), 'v1')
    expect(failed(report)).toEqual(['batches'])
    expect(lineOf(report, 'batches').sentence).toMatch(/^The graph is not deterministic/)
  })

  test('that does not exist fails with one line', async () => {
    const { checks } = await verify(temporaryModelsDir(), 'v1')
    expect(checks).toHaveLength(1)
    expect(checks[0]).toMatchObject({ check: 'manifest', state: 'fail' })
    expect(checks[0]?.sentence).toMatch(/manifest\.json does not exist\.$/)
  })

  test('whose file was changed fails that check, and is not run', async () => {
    const modelsDir = packaged(sigmoidGraph)
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), Buffer.concat([sigmoidGraph, Buffer.from([0x32, 0])]))
    const report = await verify(modelsDir, 'v1')
    expect(failed(report)).toEqual(['files'])
    expect(lineOf(report, 'load')).toMatchObject({ state: 'skip' })
    expect(report.passed).toBe(false)
  })

  test('whose graph is not a graph, or whose file is missing, fails', async () => {
    const modelsDir = packaged(Buffer.from('something else'))
    expect(failed(await verify(modelsDir, 'v1'))).toEqual(['graph head'])
    rmSync(join(modelsDir, 'v1', 'head.onnx'))
    expect(failed(await verify(modelsDir, 'v1'))).toEqual(['manifest'])
  })

  test('whose graph takes another width fails with the width that it must take', async () => {
    const report = await verify(packaged(sigmoidGraph, { features: ['views_log', 'up_log'] }), 'v1')
    expect(lineOf(report, 'graph head').sentence).toMatch(
      /input features must be float32, float64 or float16 \[N, 2\], but is float32 \[N, 1\]/,
    )
  })

  test('whose operators this runtime does not support fails once, with its file and the reason', async () => {
    const graph = smallGraph({ operators: [{ type: 'Guess', inputs: ['features'], outputs: ['probs'] }] })
    const report = await verify(packaged(graph), 'v1')
    expect(failed(report)).toEqual(['graph head'])
    expect(lineOf(report, 'graph head').sentence).toMatch(
      /v1\/head\.onnx: no execution provider can run this graph: tried cpu; cpu: This is an invalid model\. [^;]*Guess/,
    )
  })

  test('whose rows depend on each other fails', async () => {
    const graph = smallGraph({
      operators: [
        { type: 'Sigmoid', inputs: ['features'], outputs: ['share'] },
        { type: 'CumSum', inputs: ['share', 'axis'], outputs: ['sum'] },
        { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
      ],
      constants: [{ name: 'axis', shape: [1], values: Int32Array.of(0) }],
    })
    const report = await verify(packaged(graph), 'v1')
    expect(failed(report)).toEqual(['batches'])
    expect(lineOf(report, 'batches').sentence).toMatch(/The graph must compute each row independently/)
  })

  test('whose graph gives NaN for zeros, or runs one row only, fails to load in those words', async () => {
    const logarithm = smallGraph({
      operators: [
        { type: 'Sub', inputs: ['features', 'features'], outputs: ['zero'] },
        { type: 'Div', inputs: ['zero', 'features'], outputs: ['probs'] },
      ],
    })
    expect(lineOf(await verify(packaged(logarithm), 'v1'), 'load').sentence).toMatch(
      /NaN on zeros: in a row whose inputs are all 0, head p_views: 1 of 1 rows are not finite/,
    )
    const oneRow = smallGraph({
      operators: [
        { type: 'Reshape', inputs: ['features', 'shape'], outputs: ['row'] },
        { type: 'Sigmoid', inputs: ['row'], outputs: ['probs'] },
      ],
      constants: [{ name: 'shape', shape: [2], values: BigInt64Array.of(1n, 1n) }],
    })
    expect(lineOf(await verify(packaged(oneRow), 'v1'), 'load').sentence).toMatch(
      /a hidden batch of one: the graph runs one row and fails on more, .* Set batch to 1 for this graph in the manifest/,
    )
  })

  test('that states a batch of one passes with such a graph, and its runs are counted', async () => {
    const sha256 = createHash('sha256').update(sigmoidGraph).digest('hex')
    const head = { file: 'head.onnx', sha256, batch: 1, inputs: { features: 'features' } }
    const modelsDir = packaged(sigmoidGraph, { head: { ...head, outputs: { p_views: { name: 'probs' } } } })
    const report = await verify(modelsDir, 'v1')
    expect(report.passed).toBe(true)
    expect(lineOf(report, 'latency').sentence).toMatch(
      /head runs 5000 times, as its batch in the manifest is 1\.$/,
    )
  })

  test('that is correct for zeros only fails on extreme values', async () => {
    const graph = smallGraph({ operators: [{ type: 'Identity', inputs: ['features'], outputs: ['probs'] }] })
    const report = await verify(packaged(graph), 'v1')
    expect(lineOf(report, 'load').state).toBe('pass')
    expect(failed(report)).toContain('extremes')
    expect(lineOf(report, 'extremes').sentence).toMatch(/"huge" .*p_views.*not finite and within 0 to 1/)
  })
})

describe('a model that is loaded to score', () => {
  const options = (modelsDir: string, log: VerifyOptions['log'] = silentLog) => ({
    modelsDir,
    version: 'v1',
    executionProviders: ['cpu'],
    log,
  })

  test('has passed the checks, with the processes that serve', async () => {
    const infos: object[] = []
    const info = (fields: object): void => void infos.push(fields)
    const model = await loadVerifiedModel(options(packaged(sigmoidGraph), { ...silentLog, info }))
    onTestFinished(() => model.close())
    expect(model.available).toBe(true)
    const rows = { count: 1, features: Float32Array.of(0), text: null, image: null }
    expect((await model.predictRows(rows)).p_views).toEqual(Float32Array.of(0.5))
    // No other process was started.
    expect(infos).toMatchObject([{ role: 'heads', pid: model.processes[0]?.pid }])
  })

  test('is refused with the check that failed, and closed', async () => {
    const graph = smallGraph({ operators: [{ type: 'Identity', inputs: ['features'], outputs: ['probs'] }] })
    const error: unknown = await loadVerifiedModel(options(packaged(graph))).catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(ModelError)
    expect((error as ModelError).message).toMatch(/^model v1 does not pass its checks: extremes: /)
  })

  test('that no provider can serve is refused with its file and the reason, and the log names the other providers', async () => {
    const lines: string[] = []
    const warn = (fields: object, message: string): void =>
      void lines.push(`${JSON.stringify(fields)} ${message}`)
    const executionProviders = ['abacus', 'quipu']
    const given = { ...options(packaged(sigmoidGraph), { ...silentLog, warn }), executionProviders }
    await expect(loadVerifiedModel(given)).rejects.toThrow(
      /v1\/head\.onnx: no execution provider can run this graph: tried abacus, quipu; quipu: this ONNX Runtime supports only/,
    )
    expect(lines).toEqual([
      expect.stringMatching(
        /^{"role":"heads","provider":"abacus"} execution provider abacus cannot serve .*v1\/head\.onnx: this ONNX/,
      ),
    ])
  })

  test('whose process ends during the checks is refused, and only a process that may serve is reported as lost', async () => {
    const onProcessLost = vi.fn()
    const info = (fields: object): void => void process.kill((fields as { pid: number }).pid, 'SIGKILL')
    const ending = { ...options(packaged(sigmoidGraph), { ...silentLog, info }), onProcessLost }
    await expect(loadVerifiedModel(ending)).rejects.toThrow(/was ended by SIGKILL/)
    expect(onProcessLost).not.toHaveBeenCalled()
    const model = await loadVerifiedModel({ ...options(packaged(sigmoidGraph)), onProcessLost })
    onTestFinished(() => model.close())
    process.kill(model.processes[0]?.pid ?? expect.fail(), 'SIGKILL')
    await vi.waitUntil(() => onProcessLost.mock.calls.length === 1)
    expect(onProcessLost).toHaveBeenCalledWith('heads')
  })

  test('is not loaded when the load is cancelled, before the checks or during them', async () => {
    const cancelling = new AbortController()
    const { signal } = cancelling
    const loading = loadVerifiedModel({ ...options(packaged(sigmoidGraph)), signal })
    cancelling.abort()
    await expect(loading).rejects.toThrow('the load was cancelled')
    const during = new AbortController()
    const info = (): void => during.abort()
    const given = options(packaged(sigmoidGraph), { ...silentLog, info })
    await expect(loadVerifiedModel({ ...given, signal: during.signal })).rejects.toThrow(
      'the load was cancelled',
    )
  })
})

describe('golden cases', () => {
  const golden = (heads: object) => {
    const modelsDir = temporaryModelsDir()
    writePackage(modelsDir, 'v1', sigmoidGraph)
    const text = JSON.stringify({ cases: [{ name: 'the first', features: { views_log: 0 }, heads }] })
    writeFileSync(join(modelsDir, 'v1', 'golden.json'), text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    writePackage(modelsDir, 'v1', sigmoidGraph, { golden: { file: 'golden.json', sha256 } })
    return modelsDir
  }

  test('pass when the graph reproduces them', async () => {
    expect(lineOf(await verify(golden({ p_views: 0.5 }), 'v1'), 'golden')).toEqual({
      check: 'golden',
      state: 'pass',
      sentence: '1 golden case: the largest difference of a head is 0; the tolerance is 0.0001.',
    })
  })

  test('fail otherwise, with the case, the head and both values', async () => {
    const report = await verify(golden({ p_views: 0.75 }), 'v1')
    expect(failed(report)).toEqual(['golden'])
    expect(lineOf(report, 'golden').sentence).toMatch(
      /p_views of golden case 1 \(the first\): 0\.500, expected 0\.750/,
    )
  })
})

describe('a provider', () => {
  test('that cannot serve is named with the reason, and the CPU does not replace it', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1', { provider: 'abacus' })
    expect(failed(report)).toEqual(['provider'])
    expect(report.provider).toBeNull()
    expect(lineOf(report, 'provider').sentence).toMatch(
      /^with the provider abacus alone the model does not load, and nothing was compared: .*supports only .*cpu/,
    )
  })

  test('that the manifest does not list is not tried', async () => {
    const modelsDir = packaged(sigmoidGraph, { execution_providers: ['cpu'] })
    const report = await verify(modelsDir, 'v1', { provider: 'cuda' })
    expect(lineOf(report, 'provider').sentence).toMatch(/manifest .*does not list it|no execution provider/)
  })

  test('that is the CPU is not compared with itself', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1', { provider: 'cpu' })
    expect(lineOf(report, 'provider').state).toBe('skip')
    expect(report.passed).toBe(true)
  })
})

function packaged(graph: Uint8Array, changes: Record<string, unknown> = {}): string {
  const modelsDir = temporaryModelsDir()
  writePackage(modelsDir, 'v1', graph, changes)
  return modelsDir
}

function verify(
  modelsDir: string,
  version: string,
  over: Partial<VerifyOptions> = {},
): Promise<VerificationReport> {
  return verifyPackage({ modelsDir, version, executionProviders: ['cpu'], log: silentLog, ...over })
}

/** `startCount`: the processes that `run` has started. */
async function countingProcesses(
  run: () => Promise<VerificationReport>,
): Promise<{ report: VerificationReport; startCount: number }> {
  let startCount = 0
  const count = (): number => startCount++
  subscribe('child_process', count)
  try {
    const report = await run()
    return { report, startCount }
  } finally {
    unsubscribe('child_process', count)
  }
}

function failed({ checks }: VerificationReport): string[] {
  return checks.filter(({ state }) => state === 'fail').map(({ check }) => check)
}

function lineOf({ checks }: VerificationReport, check: string): CheckLine {
  const line = checks.find((one) => one.check === check)
  if (line === undefined) throw new Error(`the report has no line ${check}`)
  return line
}
