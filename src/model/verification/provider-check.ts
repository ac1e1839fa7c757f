/**
 * Compares a model on one execution provider with itself on the CPU: same rows, same texts, same images.
 */
import { counted, fail, pass, type CheckLine } from './report.js'
import {
  differenceOf,
  figure,
  trialRowCount,
  trialRows,
  trialVectors,
  type TrialModel,
} from './run-checks.js'
import { manyKinds } from './trial-inputs.js'

/** Providers compute with other kernels, some with fewer bits: see docs/models.md. */
export const providerToleranceDefault = 1e-3

export async function compareWithCpu(
  model: TrialModel,
  onCpu: TrialModel,
  provider: string,
  tolerance: number,
): Promise<CheckLine> {
  const inputs = trialRows(model, manyKinds(trialRowCount))
  const rows = Array.from({ length: trialRowCount }, (_, row) => row)
  const heads = differenceOf(await onCpu.predict(inputs), await model.predict(inputs), rows)
  const [text, image] = [
    await vectorDifference(model, onCpu, 'text'),
    await vectorDifference(model, onCpu, 'image'),
  ]
  const worst = Math.max(heads.value, text ?? 0, image ?? 0)
  const parts = [
    `heads ${figure(heads.value)}`,
    ...(text === null ? [] : [`text vectors ${figure(text)}`]),
    ...(image === null ? [] : [`image vectors ${figure(image)}`]),
  ].join(', ')
  const sentence =
    `Largest differences between ${provider} and cpu over ${counted(trialRowCount, 'row')}: ${parts}; ` +
    `${tolerance} is allowed.`
  // NaN fails.
  return worst <= tolerance ? pass('provider', sentence) : fail('provider', sentence)
}

async function vectorDifference(
  model: TrialModel,
  onCpu: TrialModel,
  encoder: 'text' | 'image',
): Promise<number | null> {
  const [a, b] = [await trialVectors(model, encoder), await trialVectors(onCpu, encoder)]
  if (a === null || b === null) return null
  return a.reduce((max, value, i) => Math.max(max, Math.abs(value - (b[i] as number))), 0)
}
