/**
 * Measures the time of a batch, which has a limit, and the memory of a model's processes.
 */
import { ModelRowError } from '../model.js'
import { residentBytes } from '../sessions/process-memory.js'
import { sizeText } from '../size-text.js'
import { counted, fail, pass, skip, type Outcome } from './report.js'
import { trialRowCount, trialRows, type TrialModel } from './trial-model.js'
import { manyKinds } from './trial-inputs.js'

/** Rows and runs of a batch: a full pool, to which the limit applies; an ordinary pool; one post. */
const batches: readonly (readonly [rows: number, runs: number])[] = [
  [trialRowCount, 7],
  [600, 11],
  [1, 15],
]

/** Stops early for a model that is far too slow. `medianMsMax`: of the full pool. */
export async function checkLatency(model: TrialModel, medianMsMax: number): Promise<Outcome> {
  const figures: { rows: number; medianMs: number; slowestMs: number }[] = []
  for (const [rows, runs] of batches) {
    const times = await measure(model, rows, runs, 3 * medianMsMax)
    const medianMs = times[Math.floor(times.length / 2)] as number
    figures.push({ rows, medianMs, slowestMs: times.at(-1) as number })
    if (rows === trialRowCount && medianMs > medianMsMax)
      return fail(
        `A batch of ${counted(rows, 'row')} takes ${medianMs.toFixed(0)} ms (median), and may take ${medianMsMax} ms ` +
          '(setting modelLatencyMsMax).',
      )
  }
  const parts = figures.map(
    ({ rows, medianMs, slowestMs }) =>
      `${counted(rows, 'row')} ${medianMs.toFixed(1)} ms (${slowestMs.toFixed(1)})`,
  )
  const sentence =
    `Median of several batches (and the slowest): ${parts.join(', ')}; the median of ` +
    `${counted(trialRowCount, 'row')} may be ${medianMsMax} ms.`
  return pass(sentence, figures)
}

/** Milliseconds of each run in rising order: with features and transport. At least one run. */
async function measure(model: TrialModel, rows: number, runs: number, msMax: number): Promise<number[]> {
  const inputs = trialRows(model, manyKinds(rows))
  const beganAt = performance.now()
  const times: number[] = []
  while (times.length < runs && (times.length === 0 || performance.now() - beganAt < msMax)) {
    const startedAt = performance.now()
    await model.predict(inputs).catch((error: unknown) => {
      // Other checks report invalid heads, with the kind of their rows.
      if (!(error instanceof ModelRowError)) throw error
    })
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)
}

/** Largest resident memory of each process so far. Linux only. */
export async function checkMemory(
  processes: readonly { readonly role: string; readonly pid: number }[],
): Promise<Outcome> {
  const peaks = await Promise.all(
    processes.map(async ({ role, pid }) => ({ role, bytes: await residentBytes(pid, 'VmHWM') })),
  )
  const figures = peaks.flatMap(({ role, bytes }) => (bytes === null ? [] : [{ role, bytes }]))
  if (figures.length === 0) return skip('This system does not report the memory of a process.')
  const parts = figures.map(({ role, bytes }) => `${role} ${sizeText(bytes)}`)
  return pass(`Largest memory of its processes so far: ${parts.join(', ')}.`, figures)
}
