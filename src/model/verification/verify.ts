/**
 * Verifies a package, from its manifest to its memory. Each check is a line of the report. Checks that need one that
 * failed are skipped, and all others run, so that one report names every problem.
 */
import { availableParallelism } from 'node:os'
import { type Log, sizeText } from '../../base/index.js'
import { loadPackage, type LoadedModel } from '../loaded-model.js'
import {
  isMostlyOnCpu,
  isPartial,
  placementText,
  providersOf,
  type Placement,
} from '../sessions/placement.js'
import type { LoadOptions } from '../sessions/plans.js'
import { headsOf } from '../package/parse-manifest.js'
import { readHashed } from '../package/read-file.js'
import { readPackage, type ModelPackage } from '../package/read-package.js'
import type { Manifest } from '../package/manifest.js'
import { checkTokenizer } from './encoder-checks.js'
import { checkMemory } from './measure.js'
import { graphChecks } from './port-checks.js'
import { compareWithCpu } from './provider-check.js'
import {
  plural,
  fail,
  lineOf,
  pass,
  sentenceOf,
  skip,
  warn,
  type Check,
  type CheckLine,
  type Outcome,
  type VerificationReport,
} from './report.js'
import { runChecks } from './run-checks.js'

const providerToleranceDefault = 1e-3

export interface VerifyOptions extends LoadOptions {
  /** Compare the outputs of this execution provider with those of the CPU, and let no other one serve. */
  readonly provider?: string
  /** The largest difference in that comparison. */
  readonly providerTolerance?: number
  /** Called with each line when its check has finished. */
  readonly onCheck?: (line: CheckLine) => void
}

/** What the checks find out for the head of the report. */
interface Facts {
  kind: Manifest['kind'] | null
  provider: string | null
}

/** Problems of a package are lines of the report; it does not reject for them. */
export async function verifyPackage({ onCheck, ...options }: VerifyOptions): Promise<VerificationReport> {
  const facts: Facts = { kind: null, provider: null }
  const checks: CheckLine[] = []
  for await (const line of checksOf(options, facts)) {
    checks.push(line)
    onCheck?.(line)
  }
  const passed = checks.every(({ state }) => state !== 'fail')
  return { version: options.version, ...facts, passed, checks }
}

async function* checksOf(options: VerifyOptions, facts: Facts): AsyncGenerator<CheckLine> {
  let modelPackage: ModelPackage
  try {
    modelPackage = await readPackage(options.modelsDir, options.version)
  } catch (error) {
    yield { check: 'manifest', ...fail(`${sentenceOf(error)}.`) }
    return
  }
  facts.kind = modelPackage.manifest.kind
  yield await lineOf(['manifest', () => checkManifest(modelPackage)])
  const { draft = [] } = modelPackage.manifest
  if (draft.length > 0) yield { check: 'draft', ...warnOfGuesses(draft) }
  const files = await lineOf(['files', () => checkFiles(modelPackage)])
  yield files
  // Other files than those of the manifest are not opened.
  const loading = files.state === 'fail' ? null : await load(modelPackage, options)
  const model = loading?.model ?? null
  try {
    const graphs = loading === null ? [] : graphChecks(modelPackage, model?.ports ?? null, options)
    const tokenizer = (): Promise<Outcome> =>
      checkTokenizer(modelPackage, { isLoaded: model !== null, log: options.log })
    let isSound = true
    for (const check of [...graphs, ['tokenizer', tokenizer] satisfies Check]) {
      const line = await lineOf(check)
      isSound &&= line.state !== 'fail'
      yield line
    }
    if (loading === null || !isSound)
      yield { check: 'load', ...skip('The model cannot serve: fix its files first.') }
    else if (loading.model === null) yield loading.failure
    else yield* loadedChecks(modelPackage, loading, options, facts)
  } finally {
    await model?.close()
  }
}

interface Loaded {
  readonly model: LoadedModel
  readonly readyMs: number
  /** What the process of the text encoder has warned of, so far. */
  readonly textWarnings: readonly string[]
}

/** `failure`: the line of the report, which stands if each file alone is correct. */
type Loading = Loaded | { readonly model: null; readonly failure: CheckLine }

/** The model in its processes, as it would serve. */
async function load(modelPackage: ModelPackage, options: VerifyOptions): Promise<Loading> {
  const { provider, log, executionProviders } = options
  const unavailable: string[] = []
  const textWarnings: string[] = []
  const warn: Log['warn'] = (fields, message) => {
    if ('provider' in fields) unavailable.push(message)
    if ('check' in fields) textWarnings.push(message)
    log.warn(fields, message)
  }
  const startedAt = performance.now()
  try {
    const executing = provider === undefined ? executionProviders : [provider]
    const model = await loadPackage(modelPackage, {
      ...options,
      executionProviders: executing,
      log: { ...log, warn },
    })
    return { model, readyMs: performance.now() - startedAt, textWarnings }
  } catch (error) {
    const why = `${[sentenceOf(error), ...unavailable].join('; ')}.`
    const compared = `with the provider ${provider} alone the model does not load, and nothing was compared: ${why}`
    const failure =
      provider === undefined || provider === 'cpu'
        ? { check: 'load', ...fail(why) }
        : { check: 'provider', ...fail(compared) }
    return { model: null, failure }
  }
}

async function* loadedChecks(
  modelPackage: ModelPackage,
  { model, readyMs, textWarnings }: Loaded,
  options: VerifyOptions,
  facts: Facts,
): AsyncGenerator<CheckLine> {
  const { provider } = options
  facts.provider = model.provider
  const readyS = (readyMs / 1000).toFixed(1)
  const ready = `Ready after ${readyS} s, served by ${providersOf(model.placements)}, on ${availableParallelism()} cores.`
  yield { check: 'load', ...pass(ready) }
  if (model.placements.some((one) => isPartial(one) || one.nodes !== null))
    yield { check: 'placement', ...describePlacements(model.placements) }
  for await (const line of runChecks(model, modelPackage, options))
    yield line.check === 'text' && line.state === 'pass' && textWarnings.length > 0
      ? { ...line, state: 'warn', sentence: `${textWarnings.join('; ')}. ${line.sentence}` }
      : line
  if (provider !== undefined)
    yield await lineOf(['provider', () => compare(modelPackage, options, model, provider)])
  yield await lineOf(['memory', () => checkMemory(model.processes)])
}

async function compare(
  modelPackage: ModelPackage,
  options: VerifyOptions,
  model: LoadedModel,
  provider: string,
): Promise<Outcome> {
  if (provider === 'cpu') return skip('The CPU is not compared with itself.')
  const onCpu = await loadPackage(modelPackage, { ...options, executionProviders: ['cpu'] })
  try {
    const tolerance = options.providerTolerance ?? providerToleranceDefault
    return await compareWithCpu(model, onCpu, { provider, tolerance })
  } finally {
    await onCpu.close()
  }
}

/** A provider of choice that does not serve, or serves in name only, is a warning. */
function describePlacements(placements: readonly Placement[]): Outcome {
  const sentence = `${placements.map(placementText).join('. ')}.`
  return placements.some((one) => one.refused.length > 0 || isMostlyOnCpu(one))
    ? warn(sentence)
    : pass(sentence)
}

function warnOfGuesses(members: readonly string[]): Outcome {
  const sentence =
    `models init guessed ${members.join(', ')}: compare each with the training, correct it, and remove it from draft in ` +
    'manifest.json.'
  return { state: 'warn', sentence }
}

function checkManifest({ manifest, features }: ModelPackage): Outcome {
  const { kind, text, image, galleries } = manifest
  const others = [
    ...(text === undefined ? [] : ['text']),
    ...(image === undefined ? [] : ['images']),
    ...(galleries === undefined ? [] : [`an index of ${galleries.length} galleries`]),
  ]
  const reads = others.length === 0 ? '' : `, reads ${others.join(' and ')}`
  const what = kind === 'trained' ? 'A trained model' : 'A transport test, not a trained model,'
  const used = `${plural(features.length, 'feature')} of the catalogue${reads}`
  return pass(`${what} with ${used}; heads ${headsOf(manifest).join(', ')}.`)
}

async function checkFiles({ files }: ModelPackage): Promise<Outcome> {
  const problems: string[] = []
  for (const { path, sha256 } of files)
    await readHashed(path, sha256).catch((error: unknown) => problems.push(sentenceOf(error)))
  if (problems.length > 0) return fail(`${problems.join('; ')}.`)
  const size = sizeText(files.reduce((sum, file) => sum + file.bytes, 0))
  const have = files.length === 1 ? 'has' : 'have'
  return pass(`${plural(files.length, 'file')} of ${size} ${have} the SHA-256 of the manifest.`)
}
