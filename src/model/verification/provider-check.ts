/**
 * Compares a model on one execution provider with itself on the CPU: same rows, same texts, same images.
 */
import { trialVectors, type EncoderName } from './encoder-checks.js'
import { plural, fail, pass, type Outcome } from './report.js'
import { trialPool } from './trial-inputs.js'
import { differenceOf, figure, trialRowCount, vectorDifference, type TrialModel } from './trial-model.js'

/** `tolerance`: providers compute with other kernels, some with fewer bits: see docs/models.md. */
export async function compareWithCpu(
  model: TrialModel,
  onCpu: TrialModel,
  { provider, tolerance }: { provider: string; tolerance: number },
): Promise<Outcome> {
  const inputs = trialPool(trialRowCount, model)
  const rows = Array.from({ length: trialRowCount }, (_, row) => row)
  const heads = differenceOf(await onCpu.predict(inputs), await model.predict(inputs), rows)
  const differences: (readonly [what: string, value: number])[] = [['heads', heads.value]]
  for (const name of ['text', 'image'] satisfies EncoderName[]) {
    const [a, b] = [await trialVectors(model, name), await trialVectors(onCpu, name)]
    if (a !== null && b !== null) differences.push([`${name} vectors`, vectorDifference(a, b)])
  }
  const parts = differences.map(([what, value]) => `${what} ${figure(value)}`).join(', ')
  const sentence =
    `Largest differences between ${provider} and cpu over ${plural(trialRowCount, 'row')}: ${parts}; ` +
    `the tolerance is ${tolerance}.`
  // NaN fails.
  return differences.every(([, value]) => value <= tolerance) ? pass(sentence) : fail(sentence)
}
