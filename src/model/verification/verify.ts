/**
 * Verifies a package, from its manifest to its latency. Each check is a line of the report. Checks that need one that
 * failed are skipped, and all others run, so that one report names every problem.
 */
import { availableParallelism } from 'node:os'
import { loadModel, type LoadedModel } from '../loaded-model.js'
import type { LoadOptions } from '../load-options.js'
import { hashProblem, headsOf, readPackage, type Manifest, type ModelPackage } from '../package/index.js'
import { sizeText } from '../size-text.js'
import { latencyLine, measureLatency, memoryLine, peakBytes } from './measure.js'
import { checkGraphs } from './port-checks.js'
import { compareWithCpu, providerToleranceDefault } from './provider-check.js'
import {
  attempt,
  counted,
  fail,
  pass,
  sentenceOf,
  skip,
  type CheckLine,
  type VerificationFigures,
  type VerificationReport,
} from './report.js'
import { checkRuns } from './run-checks.js'
import { checkTokenizer } from './tokenizer-check.js'

export interface VerifyOptions extends Pick<
  LoadOptions,
  'executionProviders' | 'intraOpThreads' | 'timeLimitMs' | 'log'
> {
  readonly modelsDir: string
  readonly version: string
  /** Compare the outputs of this execution provider with those of the CPU, and let no other one serve. */
  readonly provider?: string
  /** For that comparison. */
  readonly providerTolerance?: number
}

/** Problems of a package are lines of the report; it does not reject for them. */
export async function verifyPackage(options: VerifyOptions): Promise<VerificationReport> {
  const { modelsDir, version } = options
  let modelPackage: ModelPackage
  try {
    modelPackage = await readPackage(modelsDir, version)
  } catch (error) {
    return reportOf(version, null, null, [fail('manifest', `${sentenceOf(error)}.`)], noFigures)
  }
  const files = await checkFiles(modelPackage)
  const before = [
    manifestLine(modelPackage.manifest),
    files,
    // Other files than those of the manifest are not opened.
    ...(files.state === 'pass' ? await checkGraphs(modelPackage, options) : []),
    await checkTokenizer(modelPackage),
  ]
  if (before.some(({ state }) => state === 'fail')) {
    const line = skip('load', 'The model was not loaded: correct the problems of its files first.')
    return reportOf(version, modelPackage, null, [...before, line], noFigures)
  }
  const run = await runModel(options, modelPackage)
  return reportOf(version, modelPackage, run.provider, [...before, ...run.checks], run.figures)
}

const noFigures: VerificationFigures = { latency: [], memory: [] }

interface ModelRun {
  readonly provider: string | null
  readonly checks: readonly CheckLine[]
  readonly figures: VerificationFigures
}

async function runModel(options: VerifyOptions, modelPackage: ModelPackage): Promise<ModelRun> {
  const { provider, log } = options
  const unavailable: string[] = []
  const startedAt = performance.now()
  let model: LoadedModel
  try {
    model = await open(options, provider === undefined ? options.executionProviders : [provider], {
      ...log,
      warn: (fields, message) => {
        if ('provider' in fields) unavailable.push(message)
        log.warn(fields, message)
      },
    })
  } catch (error) {
    const why = `${[sentenceOf(error), ...unavailable].join('; ')}.`
    const line =
      provider === undefined || provider === 'cpu'
        ? fail('load', why)
        : fail(
            'provider',
            `${provider} cannot serve this model on this machine, and nothing was compared: ${why}`,
          )
    return { provider: null, checks: [line], figures: noFigures }
  }
  try {
    const readyMs = performance.now() - startedAt
    const loaded = pass(
      'load',
      `Ready after ${(readyMs / 1000).toFixed(1)} s, served by ${model.provider}, on ${availableParallelism()} cores.`,
    )
    const checks = await checkRuns(model, modelPackage)
    const comparison = provider === undefined ? [] : [await compare(options, model, provider)]
    const measured = await measure(model)
    return {
      provider: model.provider,
      checks: [loaded, ...checks, ...comparison, ...measured.checks],
      figures: measured.figures,
    }
  } finally {
    await model.close()
  }
}

function open(
  options: VerifyOptions,
  executionProviders: readonly string[],
  log = options.log,
): Promise<LoadedModel> {
  const { modelsDir, version, intraOpThreads, timeLimitMs } = options
  return loadModel({
    modelsDir,
    version,
    executionProviders,
    log,
    ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
    ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
  })
}

async function compare(options: VerifyOptions, model: LoadedModel, provider: string): Promise<CheckLine> {
  if (provider === 'cpu') return skip('provider', 'The CPU is not compared with itself.')
  return attempt('provider', async () => {
    const onCpu = await open(options, ['cpu'])
    try {
      return await compareWithCpu(
        model,
        onCpu,
        provider,
        options.providerTolerance ?? providerToleranceDefault,
      )
    } finally {
      await onCpu.close()
    }
  })
}

async function measure(
  model: LoadedModel,
): Promise<{ checks: readonly CheckLine[]; figures: VerificationFigures }> {
  try {
    const latency = await measureLatency(model)
    const processes = await Promise.all(
      model.processes.map(async ({ role, pid }) => ({ role, bytes: await peakBytes(pid) })),
    )
    const memory = processes.flatMap(({ role, bytes }) => (bytes === null ? [] : [{ role, bytes }]))
    return { checks: [latencyLine(latency), memoryLine(memory)], figures: { latency, memory } }
  } catch (error) {
    return { checks: [fail('latency', `${sentenceOf(error)}.`)], figures: noFigures }
  }
}

function manifestLine(manifest: Manifest): CheckLine {
  const { kind, features, text, image } = manifest
  const encoders = [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])]
  const reads = encoders.length === 0 ? '' : `, reads ${encoders.join(' and ')}`
  return pass(
    'manifest',
    `${kind === 'trained' ? 'A trained model' : 'A transport test, not a trained model,'} with ` +
      `${counted(features.length, 'feature')} of the catalogue${reads}; heads ${headsOf(manifest).join(', ')}.`,
  )
}

async function checkFiles(modelPackage: ModelPackage): Promise<CheckLine> {
  return attempt('files', async () => {
    const problems: string[] = []
    for (const entry of modelPackage.files) {
      const problem = await hashProblem(entry)
      if (problem !== null) problems.push(problem)
    }
    if (problems.length > 0) return fail('files', `${problems.join('; ')}.`)
    const bytes = modelPackage.files.reduce((sum, file) => sum + file.bytes, 0)
    const are = modelPackage.files.length === 1 ? 'has' : 'have'
    return pass(
      'files',
      `${counted(modelPackage.files.length, 'file')} of ${sizeText(bytes)} ${are} the SHA-256 of the manifest.`,
    )
  })
}

function reportOf(
  version: string,
  modelPackage: ModelPackage | null,
  provider: string | null,
  checks: readonly CheckLine[],
  figures: VerificationFigures,
): VerificationReport {
  return {
    version,
    kind: modelPackage?.manifest.kind ?? null,
    provider,
    passed: checks.every(({ state }) => state !== 'fail'),
    checks,
    figures,
  }
}
