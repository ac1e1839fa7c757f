/**
 * The whole verification, of packages on disk, with real graphs in their processes.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  modelsDir as shippedDir,
  sigmoidGraph,
  smallGraph,
  temporaryModelsDir,
  writePackage,
} from '../../../test/helpers/model-packages.js'
import { referenceCodec } from '../../codec/index.js'
import { irVersionMax, opsetsMax } from '../graph-ports/index.js'
import { ModelError } from '../model.js'
import { listModels } from '../package/index.js'
import { withDescendants } from '../process-tree.js'
import { loadSoundModelBeside } from './apart.js'
import type { CheckLine, VerificationReport } from './report.js'
import { loadSoundModel } from './sound-model.js'
import { verifyPackage, type VerifyOptions } from './verify.js'

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

test('every shipped model passes', async () => {
  for (const version of await listModels(shippedDir)) {
    const report = await verify(shippedDir, version)
    expect(failed(report), version).toEqual([])
    expect(report).toMatchObject({ version, provider: 'cpu', passed: true })
  }
})

describe('a package', () => {
  test('that is sound passes every check that concerns it, and tells what it costs', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1')
    expect(report.checks.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'manifest pass',
      'files pass',
      'graph head pass',
      'tokenizer skip',
      'load pass',
      'golden skip',
      'extremes pass',
      'batches pass',
      'text skip',
      'image skip',
      'latency pass',
      process.platform === 'linux' ? 'memory pass' : 'memory skip',
    ])
    expect(report).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', passed: true })
    expect(report.figures.latency.map(({ rows }) => rows)).toEqual([1, 600, 5000])
    for (const { medianMs, slowestMs } of report.figures.latency)
      expect(slowestMs).toBeGreaterThanOrEqual(medianMs)
  })

  test('that is not there fails with one line', async () => {
    const { checks } = await verify(temporaryModelsDir(), 'v1')
    expect(checks).toHaveLength(1)
    expect(checks[0]).toMatchObject({ check: 'manifest', state: 'fail' })
    expect(checks[0]?.sentence).toMatch(/manifest\.json does not exist\.$/)
  })

  test('whose file was changed is told so, and is not run', async () => {
    const modelsDir = packaged(sigmoidGraph)
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), Buffer.concat([sigmoidGraph, Buffer.from([0x32, 0])]))
    const report = await verify(modelsDir, 'v1')
    expect(failed(report)).toEqual(['files'])
    expect(lineOf(report, 'load')).toMatchObject({ state: 'skip' })
    expect(report.passed).toBe(false)
  })

  test('whose graph is no graph, and whose golden file is gone, is told both', async () => {
    const modelsDir = packaged(Buffer.from('something else'))
    expect(failed(await verify(modelsDir, 'v1'))).toEqual(['graph head'])
    rmSync(join(modelsDir, 'v1', 'head.onnx'))
    expect(failed(await verify(modelsDir, 'v1'))).toEqual(['manifest'])
  })

  test('whose graph takes another width is told what it must take', async () => {
    const report = await verify(packaged(sigmoidGraph, { features: ['views_log', 'up_log'] }), 'v1')
    expect(lineOf(report, 'graph head').sentence).toMatch(
      /input features must be float32 or float64 \[N, 2\], and is float32 \[N, 1\]/,
    )
  })

  test('whose operators this runtime does not know fails to load, with its file and the reason, once', async () => {
    const graph = smallGraph({ operators: [{ type: 'Guess', inputs: ['features'], outputs: ['probs'] }] })
    const report = await verify(packaged(graph), 'v1')
    expect(failed(report)).toEqual(['load'])
    expect(lineOf(report, 'load').sentence).toMatch(
      /v1\/head\.onnx: no execution provider can serve: tried cpu; cpu: This is an invalid model\. [^;]*Guess/,
    )
  })

  test('that is too new is told the newest that there may be, as docs/models.md tells it', async () => {
    const operators = [{ type: 'Sigmoid', inputs: ['features'], outputs: ['probs'] }]
    const report = await verify(packaged(smallGraph({ operators, opset: 99, irVersion: 14 })), 'v1')
    expect(failed(report)).toEqual(['graph head'])
    const { sentence } = lineOf(report, 'graph head')
    expect(sentence).toMatch(/^head\.onnx: it has IR version 14, and ONNX Runtime takes at most 13 here: /)
    expect(sentence).toMatch(/; it needs opset 99 of ai\.onnx, and ONNX Runtime takes at most 26 here: /)
    const read = (file: string): string => readFileSync(join(shippedDir, '..', file), 'utf8')
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const document = read('docs/models.md')
    expect(document).toContain(`ONNX Runtime ${dependencies['onnxruntime-node']}, which runs it here`)
    for (const [domain, last] of opsetsMax) expect(document).toContain(`\`${domain}\` up to opset ${last},`)
    expect(document).toContain(`files up to IR version ${irVersionMax}:`)
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
    expect(lineOf(report, 'batches').sentence).toMatch(/The graph must treat each row by itself/)
  })

  test('that is right for zeros and wrong beyond fails on the extremes', async () => {
    const graph = smallGraph({ operators: [{ type: 'Identity', inputs: ['features'], outputs: ['probs'] }] })
    const report = await verify(packaged(graph), 'v1')
    expect(lineOf(report, 'load').state).toBe('pass')
    expect(failed(report)).toContain('extremes')
    expect(lineOf(report, 'extremes').sentence).toMatch(/"huge" .*p_views.*not finite and within 0 to 1/)
  })
})

describe('a model that is loaded to score', () => {
  const options = (modelsDir: string) => ({
    modelsDir,
    version: 'v1',
    executionProviders: ['cpu'],
    log: quiet,
  })

  test('has passed the checks', async () => {
    const model = await loadSoundModel(options(packaged(sigmoidGraph)))
    expect(model.available).toBe(true)
    await model.close()
  })

  test('is refused with what is wrong, and closed', async () => {
    const graph = smallGraph({ operators: [{ type: 'Identity', inputs: ['features'], outputs: ['probs'] }] })
    const error: unknown = await loadSoundModel(options(packaged(graph))).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ModelError)
    expect((error as ModelError).message).toMatch(/^model v1 is not sound: extremes: /)
  })
})

describe('a model that is loaded beside another', () => {
  const options = (modelsDir: string, log: VerifyOptions['log'] = quiet) => ({
    ...{ modelsDir, version: 'v1', executionProviders: ['cpu'], codec: referenceCodec, log },
  })
  const going = new AbortController().signal

  test('has passed the checks in another process, and serves like one that was loaded at once', async () => {
    const infos: object[] = []
    const info = (fields: object): void => void infos.push(fields)
    const model = await loadSoundModelBeside(options(packaged(sigmoidGraph), { ...quiet, info }), going)
    onTestFinished(() => model.close())
    expect(model.available).toBe(true)
    const rows = { count: 1, features: Float32Array.of(0), text: null, image: null }
    expect((await model.predictRows(rows)).p_views).toEqual(Float32Array.of(0.5))
    const [{ pid } = { pid: 0 }] = model.processes
    expect(getPriority(pid)).toBe(getPriority())
    // Of the processes that were checked nothing is told: they serve nobody.
    expect(infos).toMatchObject([{ role: 'heads', pid }])
  })

  test('is refused with what is wrong, in the words of the checks', async () => {
    const graph = smallGraph({ operators: [{ type: 'Identity', inputs: ['features'], outputs: ['probs'] }] })
    const error: unknown = await loadSoundModelBeside(options(packaged(graph)), going).catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(ModelError)
    expect((error as ModelError).message).toMatch(/^model v1 is not sound: extremes: /)
  })

  test('that no provider can serve is refused with its file and why, and the log says it of those before', async () => {
    const lines: string[] = []
    const warn = (fields: object, message: string): void =>
      void lines.push(`${JSON.stringify(fields)} ${message}`)
    const executionProviders = ['abacus', 'quipu']
    const given = { ...options(packaged(sigmoidGraph), { ...quiet, warn }), executionProviders }
    await expect(loadSoundModelBeside(given, going)).rejects.toThrow(
      /v1\/head\.onnx: no execution provider can serve: tried abacus, quipu; quipu: this ONNX Runtime knows only/,
    )
    expect(lines).toEqual([
      expect.stringMatching(
        /^{"provider":"abacus","role":"heads"} execution provider abacus cannot serve .*v1\/head\.onnx: this ONNX/,
      ),
    ])
  })

  test('is given up when all ends', async () => {
    const ending = new AbortController()
    const loading = loadSoundModelBeside(options(packaged(sigmoidGraph)), ending.signal)
    ending.abort()
    await expect(loading).rejects.toThrow('the service ends')
    await expect(loadSoundModelBeside(options(packaged(sigmoidGraph)), ending.signal)).rejects.toThrow(
      'the service ends',
    )
  })
})

describe.runIf(process.platform === 'linux')('the processes that check a model beside another', () => {
  const options = (modelsDir: string) => ({
    ...{ modelsDir, version: 'v1', executionProviders: ['cpu'], codec: referenceCodec, log: quiet },
  })

  test('are ended together: a session needs no core of its own to end with its checker', async () => {
    const ending = new AbortController()
    const loading = loadSoundModelBeside(options(packaged(sigmoidGraph)), ending.signal)
    const refused = expect(loading).rejects.toThrow('the service ends')
    const started = (): number[] =>
      withDescendants(process.pid).filter((pid) => isCalled(pid, 'sessions/child.js'))
    const session = await vi.waitUntil(() => started()[0], { interval: 1, timeout: 30_000 })
    process.kill(session, 'SIGSTOP')
    onTestFinished(() => void spawnSync('kill', ['-KILL', String(session)]))
    ending.abort()
    await refused
    await expect.poll(() => isCalled(session, 'sessions/child.js'), { timeout: 10_000 }).toBe(false)
  })

  test('have time to find an idle core besides that of a batch', async () => {
    const model = await loadSoundModelBeside(
      { ...options(packaged(sigmoidGraph)), timeLimitMs: 1 },
      new AbortController().signal,
    )
    await model.close()
  })
})

/** Whether the process is there, and runs this file. */
function isCalled(pid: number, file: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(file)
  } catch {
    return false
  }
}

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

  test('that the graph gives pass', async () => {
    expect(lineOf(await verify(golden({ p_views: 0.5 }), 'v1'), 'golden')).toEqual({
      check: 'golden',
      state: 'pass',
      sentence: '1 golden case: the largest difference of a head is 0, and may be 0.0001.',
    })
  })

  test('that it does not give fail, with the case, the head and both values', async () => {
    const report = await verify(golden({ p_views: 0.75 }), 'v1')
    expect(failed(report)).toEqual(['golden'])
    expect(lineOf(report, 'golden').sentence).toMatch(/p_views of the first: 0\.500, and should be 0\.750/)
  })
})

describe('a provider', () => {
  test('that cannot serve is named with the reason, and the CPU is not taken instead', async () => {
    const report = await verify(packaged(sigmoidGraph), 'v1', { provider: 'abacus' })
    expect(failed(report)).toEqual(['provider'])
    expect(report.provider).toBeNull()
    expect(lineOf(report, 'provider').sentence).toMatch(
      /^abacus cannot serve this model on this machine, and nothing was compared: .*knows only .*cpu/,
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
  return verifyPackage({ modelsDir, version, executionProviders: ['cpu'], log: quiet, ...over })
}

function failed({ checks }: VerificationReport): string[] {
  return checks.filter(({ state }) => state === 'fail').map(({ check }) => check)
}

function lineOf({ checks }: VerificationReport, check: string): CheckLine {
  const line = checks.find((one) => one.check === check)
  if (line === undefined) throw new Error(`the report has no line ${check}`)
  return line
}
