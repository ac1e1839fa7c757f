/**
 * Checks that run the model: its latency, golden cases, extreme inputs, and independence of a row's heads from the rest
 * of the batch. Every load runs them, since a valid file may hold a broken model.
 */
import { headNames, type HeadColumns } from '../../contract/index.js'
import { goldenToleranceDefault, mismatchText, readGolden, runGolden } from './golden.js'
import { latencyMsMaxDefault, type LoadOptions } from '../sessions/plans.js'
import type { Manifest } from '../package/manifest.js'
import { headGraphs, headsOf } from '../package/parse-manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import { GraphError, ModelError, ModelRowError } from '../model.js'
import { checkEncoder } from './encoder-checks.js'
import { checkLatency } from './measure.js'
import { plural, fail, lineOf, pass, skip, warn, type Check, type CheckLine, type Outcome } from './report.js'
import { reorder, shuffle, trialInputs, trialKinds, trialPool, type TrialKind } from './trial-inputs.js'
import { differenceOf, evaluationMode, figure, trialRowCount, type TrialModel } from './trial-model.js'

export type CheckOptions = Pick<LoadOptions, 'latencyMsMax'>

const aloneRowCount = 12
const partRowCount = 600
/** Largest difference of a head between equal rows: kernels for other sizes of a batch sum in another order. */
const invarianceTolerance = 1e-5
/** Differences of values that a head means to be equal. */
const constantTolerance = 1e-7

/** Throws a `ModelError` with every check that failed. */
export async function assertChecksPass(
  model: TrialModel,
  modelPackage: ModelPackage,
  options: CheckOptions = {},
): Promise<void> {
  const failed: string[] = []
  for await (const { check, state, sentence } of runChecks(model, modelPackage, options))
    if (state === 'fail') failed.push(`${check}: ${sentence}`)
  if (failed.length === 0) return
  throw new ModelError(
    `model ${modelPackage.manifest.model_version} does not pass its checks: ${failed.join(' ')}`,
  )
}

/** One line a check, in the order of a report, each when its check has finished. */
export async function* runChecks(
  model: TrialModel,
  modelPackage: ModelPackage,
  { latencyMsMax = latencyMsMaxDefault }: CheckOptions = {},
): AsyncGenerator<CheckLine> {
  const latency = await lineOf(['latency', () => checkLatency(model, latencyMsMax, modelPackage.manifest)])
  yield latency
  const checks: readonly Check[] = [
    ['golden', () => checkGolden(model, modelPackage)],
    ['extremes', () => checkExtremes(model)],
    ['batches', () => checkBatches(model, modelPackage)],
    ['text', () => checkEncoder(model, 'text', modelPackage.manifest)],
    ['image', () => checkEncoder(model, 'image', modelPackage.manifest)],
  ]
  // They would take minutes, or fail for the same reason.
  const skipped = (): Outcome => skip('Not checked: the model must score a full pool in time first.')
  for (const [name, run] of checks) yield await lineOf([name, latency.state === 'fail' ? skipped : run])
}

async function checkGolden(model: TrialModel, modelPackage: ModelPackage): Promise<Outcome> {
  const { manifest } = modelPackage
  const golden = await readGolden(modelPackage)
  if (golden === null) {
    if (manifest.kind !== 'trained') return skip('The manifest names no golden cases.')
    const sentence =
      'The manifest names no golden cases, so nothing shows that the model computes here what it computed in ' +
      'training: with its features in another order, for example, it passes every other check. Deliver cases from ' +
      'training (docs/models.md).'
    return warn(sentence)
  }
  const tolerance = manifest.golden?.tolerance ?? goldenToleranceDefault
  const result = await runGolden(model, modelPackage, golden)
  const { differenceMax, heads } = result
  const problem = mismatchText(golden, result, `by more than ${tolerance}`)
  if (problem !== null) return fail(`${problem}.${precisionHint(differenceMax)}`)
  const cases = plural(golden.cases.length, 'golden case')
  const passes = `${cases}: the largest difference of a head is ${figure(differenceMax)}; the tolerance is ${tolerance}.`
  const clipped = clippedText(manifest, heads, (count, all) => count === all)
  return clipped === null ? pass(passes) : warn(`${clipped} ${passes}`)
}

/** Larger differences have another cause than fewer bits: weights of eight bits change a head by some hundredths. */
const precisionDifferenceMax = 0.1

function precisionHint(differenceMax: number): string {
  if (!(differenceMax <= precisionDifferenceMax)) return ''
  return (
    ' If the graph has fewer bits than the model of the training (float16, int8), set golden.tolerance in the manifest to the ' +
    'difference that you accept.'
  )
}

/** Names each head that the activation clip sets to 0 or 1 in too many rows; null: none. */
function clippedText(
  manifest: Manifest,
  heads: HeadColumns,
  isTooMany: (count: number, all: number) => boolean,
): string | null {
  const parts = headGraphs(manifest).flatMap(({ outputs }) =>
    headNames.flatMap((head) => {
      const values = heads[head] ?? new Float32Array(0)
      const count = values.reduce((sum, value) => sum + Number(value === 0 || value === 1), 0)
      return outputs[head]?.activation === 'clip' && isTooMany(count, values.length)
        ? [`${head} is 0 or 1 in ${count} of ${plural(values.length, 'row')}`]
        : []
    }),
  )
  if (parts.length === 0) return null
  return (
    `${parts.join(' and ')}, a bound of the activation clip, so that it does not rank these: compare scale, offset and column ` +
    'with the training.'
  )
}

/** `predict` rejects if a head is not finite and within 0 to 1. */
async function checkExtremes(model: TrialModel): Promise<Outcome> {
  const rowsPerKind = 16
  const kinds = trialKinds.filter((kind) => kind !== 'ordinary')
  for (const kind of kinds) {
    try {
      await model.predict(trialInputs(new Array<TrialKind>(rowsPerKind).fill(kind), model))
    } catch (error) {
      // Not the fault of these rows: a limit of time or memory, a process that ended.
      if (!(error instanceof ModelRowError || error instanceof GraphError)) throw error
      return fail(`Rows of kind "${kind}" (${kindLabels[kind]}): ${error.message}.`)
    }
  }
  return pass(
    `Heads are finite and within 0 to 1 for rows where ${kinds.map((kind) => kindLabels[kind]).join(', ')}.`,
  )
}

const kindLabels: Readonly<Record<TrialKind, string>> = {
  ordinary: 'values are ordinary',
  missing: 'all optional values are missing',
  zeros: 'all values are zero',
  huge: 'counters have their maximum',
  mixed: 'each value is of another kind',
}

async function checkBatches(model: TrialModel, { manifest }: ModelPackage): Promise<Outcome> {
  const inputs = trialPool(trialRowCount, model)
  const all = await model.predict(inputs)
  const inOrder = Array.from({ length: trialRowCount }, (_, row) => row)
  const repeated = differenceOf(all, await model.predict(inputs), inOrder)
  if (!(repeated.value <= invarianceTolerance))
    return fail(
      `The graph is not deterministic: between two equal batches, ${repeated.head} of row ${repeated.row} differs by ` +
        `${figure(repeated.value)}. ${evaluationMode}`,
    )
  const order = shuffle(trialRowCount)
  const alone = order.slice(0, aloneRowCount).map((row) => [row])
  let worst = 0
  for (const rows of [...alone, order.slice(0, partRowCount), order]) {
    const { value, head, row } = differenceOf(all, await model.predict(reorder(inputs, rows)), rows)
    if (!(value <= invarianceTolerance)) {
      const how = rows.length === 1 ? 'alone' : `in a batch of ${plural(rows.length, 'row')} in another order`
      return fail(
        `A row gets different heads ${how} than in a batch of ${plural(trialRowCount, 'row')}: ${head} of row ${row} ` +
          `differs by ${figure(value)} (tolerance ${invarianceTolerance}). The graph must compute each row independently. ` +
          `${evaluationMode} One with dynamic quantisation needs "batch": 1 in the manifest.`,
      )
    }
    worst = Math.max(worst, value)
  }
  const clipped = clippedText(manifest, all, (count, rows) => count > rows / 2)
  const constant = headsOf(manifest).filter((head) => isConstant(all[head]))
  if (constant.length > 0)
    return warn(
      `${constant.map((head) => `${head} is ${figure(all[head]?.[0] ?? NaN)}`).join(' and ')} on all ` +
        `${plural(trialRowCount, 'row')}: the head does not depend on its inputs, or its column or its activation is another one.`,
    )
  if (clipped !== null) return warn(clipped)
  return pass(
    `Rows give the same ${headsOf(manifest).join(', ')} in each run, alone, in batches of ${partRowCount} and of ` +
      `${plural(trialRowCount, 'row')} in another order: the largest difference is ${figure(worst)}; the tolerance is ` +
      `${invarianceTolerance}.`,
  )
}

/** Whether all rows have one value: no post would be ranked by it. */
function isConstant(values: Float32Array | null): boolean {
  return values?.every((value) => Math.abs(value - (values[0] ?? NaN)) <= constantTolerance) ?? false
}
