/**
 * A soak test: a real server under the load of the simulated client, as fast as possible, on a simulated clock. First a
 * warm-up until as many records expire as arrive, then the measured cycles; at the end all retained data is read again.
 */
import { spawnSync } from 'node:child_process'
import { executable } from '../harness/server.js'
import { SoakClient, type SoakOptions } from './client.js'
import { blockCosts, removalCosts, type BlockCost, type RemovalCost } from './cost.js'
import { recordRules, levelRules, type Held, type Verdict } from './rules.js'
import { takeSample, type Sample } from './samples.js'
import { SoakTarget } from './target.js'

export interface SoakPlan extends SoakOptions {
  readonly warmUpCycles: number
  /** Simulated time without cycles between warm-up and measured cycles: a multiple of five minutes. */
  readonly leapMs: number
  readonly measuredCycles: number
  /** Cycles between two samples of the server's resources; 0: no samples, and levels are not checked. */
  readonly sampleCycles: number
  /** Cycles of each block with and without removals, after the checks; 0: none. */
  readonly costCycles: number
}

export interface SoakResult {
  readonly samples: readonly Sample[]
  readonly verdicts: readonly Verdict[]
  readonly counts: Readonly<Record<string, number>>
}

export interface SoakHooks {
  readonly onSample?: (sample: Sample) => void
  readonly onCost?: (cost: BlockCost | RemovalCost) => void
}

/** Small, with encoders of texts and images. */
const soakModel = 'example-1'
/** Any cycle boundary in the past. */
export const startAtMs = Date.UTC(2025, 2, 3)

export async function soak(plan: SoakPlan, { onSample, onCost }: SoakHooks = {}): Promise<SoakResult> {
  const target = await SoakTarget.start(startAtMs, plan.keptDays, { model: soakModel })
  const client = await SoakClient.open(target, plan, startAtMs)
  const samples: Sample[] = []
  const run = async (cycles: number): Promise<void> => {
    for (let cycle = 1; cycle <= cycles; cycle++) {
      await client.step()
      if (plan.sampleCycles === 0 || cycle % plan.sampleCycles !== 0) continue
      const sample = await takeSample(target, client)
      samples.push(sample)
      onSample?.(sample)
    }
  }
  try {
    await run(plan.warmUpCycles)
    if (plan.leapMs > 0) client.leap(plan.leapMs)
    const from = samples.length
    await run(plan.measuredCycles)
    const reread = await client.rereadAll()
    const verdicts = [
      ...(plan.sampleCycles === 0 ? [] : levelRules(samples.slice(from))),
      {
        holds: true,
        words: `responses: ${reread.kept} retained ones are unchanged, ${reread.gone} expired ones are deleted`,
      },
      logRule(target.server.log),
      ...recordRules(verify(target.server.dataDir), client.held, client.totals.weights + 1),
    ]
    const { counts } = client
    if (plan.costCycles > 0) {
      for (const cost of await blockCosts(target, client, plan.keptDays, plan.costCycles)) onCost?.(cost)
      await target.server.kill('SIGTERM')
      for (const cost of await removalCosts(target.server.dataDir)) onCost?.(cost)
    }
    return { samples, verdicts, counts }
  } finally {
    await target.dispose()
  }
}

export function logRule(log: string): Verdict {
  const errors = log.split('\n').filter((line) => /"level":[56]0/.test(line))
  return { holds: errors.length === 0, words: `errors in the log: ${errors.length}${errors[0] ?? ''}` }
}

/** While the server runs, as an operator does. */
export function verify(dataDir: string): Held {
  const { stdout, stderr } = spawnSync(executable, ['verify', '--json', '--data-dir', dataDir], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  try {
    return JSON.parse(stdout) as Held
  } catch {
    return { sound: false, problems: [stderr], counts: null }
  }
}
