/**
 * Measures the latency of health for another client during an attack.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { projectDir } from '../helpers/project.js'

export interface HealthFigures {
  readonly count: number
  readonly failureCount: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** Measures until `during` has ended; rejects if it rejects. */
export async function watchHealth(port: number, during: () => Promise<void>): Promise<HealthFigures> {
  const child = fork(join(projectDir, 'test', 'hostile', 'health-client.ts'), {
    execArgv: ['--import', join(projectDir, 'bench', 'typescript.mjs')],
  })
  const figures = new Promise<HealthFigures>((resolve, reject) => {
    child.on('message', (message: { samplesMs: number[]; failureCount: number } | 'ready') => {
      if (message === 'ready') return
      const sorted = [...message.samplesMs].sort((a, b) => a - b)
      const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? 0
      const { failureCount } = message
      resolve({ count: sorted.length, failureCount, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) })
    })
    child.once('exit', () => reject(new Error('the health client has exited')))
  })
  figures.catch(() => undefined)
  const ready = new Promise((resolve) => child.once('message', resolve))
  child.send(port)
  try {
    await Promise.race([ready, figures])
    await during()
  } finally {
    child.send('stop')
  }
  return figures
}
