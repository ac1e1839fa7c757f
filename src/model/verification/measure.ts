/**
 * Measures the time of a batch, which has a limit, and the memory of a model's processes.
 */
import { sizeText } from '../../base/index.js'
import type { Manifest } from '../package/manifest.js'
import { namedGraphs } from '../package/parse-manifest.js'
import { ModelRowError } from '../model.js'
import { residentBytes } from '../sessions/process-memory.js'
import { plural, fail, pass, skip, type Outcome } from './report.js'
import { trialPool } from './trial-inputs.js'
import { trialRowCount, type TrialModel } from './trial-model.js'

const runCount = 7

/** Times batches of a full pool. Stops early for a model that is far too slow. */
export async function checkLatency(
  model: TrialModel,
  medianMsMax: number,
  manifest: Manifest,
): Promise<Outcome> {
  const times = await measure(model, 3 * medianMsMax)
  const medianMs = times[Math.floor(times.length / 2)]!
  const takes =
    `A batch of ${plural(trialRowCount, 'row')} takes ${medianMs.toFixed(1)} ms (median of ${times.length}); ` +
    `the limit is ${medianMsMax} ms`
  const cost = costOfRuns(manifest)
  return medianMs > medianMsMax
    ? fail(`${takes} (setting modelLatencyMsMax).${cost}`)
    : pass(`${takes}.${cost}`)
}

/** The runs of graphs that take a fixed number of rows, as a sentence; '' if there are none. */
function costOfRuns(manifest: Manifest): string {
  return namedGraphs(manifest)
    .filter(({ member }) => member !== 'text' && member !== 'image')
    .map(({ member, graph: { batch } }) => {
      if (batch === undefined) return ''
      const runs = Math.ceil(trialRowCount / batch)
      return ` ${member} runs ${runs} times, as its batch in the manifest is ${batch}.`
    })
    .join('')
}

/**
 * Milliseconds of each run in ascending order: with features and transport. The first run is not one of them: it is slower
 * than any that serves a cycle. At least one run is, and no other after `msMax`.
 */
async function measure(model: TrialModel, msMax: number): Promise<number[]> {
  const inputs = trialPool(trialRowCount, model)
  const run = async (): Promise<number> => {
    const startedAt = performance.now()
    await model.predict(inputs).catch((error: unknown) => {
      // Other checks report invalid heads, with the kind of their rows.
      if (!(error instanceof ModelRowError)) throw error
    })
    return performance.now() - startedAt
  }
  await run()
  const beganAt = performance.now()
  const times = [await run()]
  while (times.length < runCount && performance.now() - beganAt < msMax) times.push(await run())
  return times.sort((a, b) => a - b)
}

/** Largest resident memory of each process so far. Linux only. */
export async function checkMemory(
  processes: readonly { readonly role: string; readonly pid: number }[],
): Promise<Outcome> {
  const peaks = await Promise.all(
    processes.map(async ({ role, pid }) => ({ role, bytes: await residentBytes(pid, 'VmHWM') })),
  )
  const parts = peaks.flatMap(({ role, bytes }) => (bytes === null ? [] : [`${role} ${sizeText(bytes)}`]))
  if (parts.length === 0) return skip('This system does not report the memory of a process.')
  return pass(`Largest memory of its processes so far: ${parts.join(', ')}.`)
}
