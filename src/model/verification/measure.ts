/**
 * Measures the time of a batch and the memory of a model's processes.
 */
import { readFile } from 'node:fs/promises'
import { sizeText } from '../size-text.js'
import { counted, pass, skip, type CheckLine, type LatencyFigure } from './report.js'
import { trialRows, type TrialModel } from './run-checks.js'
import { manyKinds } from './trial-inputs.js'

/** Rows and runs of a batch: one post, an ordinary pool, a full pool. */
const batches: readonly (readonly [rows: number, runs: number])[] = [
  [1, 15],
  [600, 11],
  [5000, 7],
]

export async function measureLatency(model: TrialModel): Promise<LatencyFigure[]> {
  const figures: LatencyFigure[] = []
  for (const [rows, runs] of batches) {
    const inputs = trialRows(model, manyKinds(rows))
    const times: number[] = []
    for (let run = 0; run < runs; run++) {
      const startedAt = performance.now()
      await model.predict(inputs)
      times.push(performance.now() - startedAt)
    }
    times.sort((a, b) => a - b)
    figures.push({
      rows,
      medianMs: times[Math.floor(runs / 2)] as number,
      slowestMs: times[runs - 1] as number,
    })
  }
  return figures
}

export function latencyLine(figures: readonly LatencyFigure[]): CheckLine {
  const parts = figures.map(
    ({ rows, medianMs, slowestMs }) =>
      `${counted(rows, 'row')} ${medianMs.toFixed(1)} ms (${slowestMs.toFixed(1)})`,
  )
  return pass('latency', `Median of several batches (and the slowest): ${parts.join(', ')}.`)
}

/** Largest resident memory of a process so far, in bytes; null on systems other than Linux. */
export async function peakBytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  return kibibytes === undefined ? null : Number(kibibytes) * 1024
}

export function memoryLine(memory: readonly { readonly role: string; readonly bytes: number }[]): CheckLine {
  if (memory.length === 0) return skip('memory', 'This system does not report the memory of a process.')
  const parts = memory.map(({ role, bytes }) => `${role} ${sizeText(bytes)}`)
  return pass('memory', `Largest memory of its processes so far: ${parts.join(', ')}.`)
}
